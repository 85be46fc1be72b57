"""SHA-256 of what turns a sample into tokens: chat template, tokenizer and media processors, by what they do.

Files are no measure: a quantizer writes them anew, with other white space and other version numbers.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

_PROCESSORS = ("image_processor", "video_processor", "feature_extractor", "audio_processor")
_SAY_NOTHING = ("processor_class", "_processor_class", "transformers_version", "name_or_path")


def input_fingerprint(processor: Any) -> dict[str, str]:
    """Part to SHA-256.

    Args:
        processor: The transformers processor of the checkpoint, or its tokenizer.

    Returns:
        `chat_template`, `tokenizer`, and each media processor that there is.
    """
    tokenizer = getattr(processor, "tokenizer", processor)
    found = {"chat_template": _sha256(getattr(processor, "chat_template", None)), "tokenizer": _of_tokenizer(tokenizer)}
    for name in _PROCESSORS:
        part = getattr(processor, name, None)
        if part is not None and hasattr(part, "to_dict"):
            found[name] = _sha256({key: value for key, value in part.to_dict().items() if key not in _SAY_NOTHING})
    return found


def _of_tokenizer(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return _sha256([sorted(tokenizer.get_vocab().items()), str(tokenizer.special_tokens_map)])
    content = json.loads(backend.to_str())
    # How a batch is padded or cut is set by whoever calls it.
    return _sha256([{key: value for key, value in content.items() if key not in ("padding", "truncation")}])


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str, ensure_ascii=False).encode()).hexdigest()
