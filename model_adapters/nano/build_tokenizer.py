"""Nano's tokenizer: byte-level BPE with one token a known character, single digits, and Qwen's special tokens.

Text that the alphabet does not know falls back to bytes, so every string round-trips. There are no merges across
characters: a reader of images must spell what it sees. Words and Chinese phrases of the project's own prompts and the
rulings of a Markdown table are one token each, which keeps sequences short; they are found whole, so no partial word
enters the vocabulary.

Run as `python -m tliveomni_eval.model_adapters.nano.build_tokenizer OUT`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

SPECIAL_TOKENS: tuple[str, ...] = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|audio_start|>",
    "<|audio_end|>",
    "<|audio_pad|>",
)
"""Qwen3-VL's special tokens and Qwen3-Omni's for audio."""

CHAT_WORDS: tuple[str, ...] = ("user", "assistant", "system", " seconds")
"""Words of the chat format and of video time stamps."""

VOCABULARY_MULTIPLE = 64
"""The embedding has a multiple of this many rows: rows to spare for later stages, aligned matrix widths."""

TABLE_RULINGS: tuple[str, ...] = (" |\n| ", " | ", "| ", " |", "---")
"""Pieces of a Markdown table, longest first."""

_PRE_TOKEN = r" \|\n\| | \| |\| | \||---| ?[A-Za-z]+|[^\x00-\x7F]|\p{N}|[\r\n]|[^\r\n]"
TOKENIZER_FILE = "tokenizer.json"
_CHINESE_PHRASE = re.compile(r"[\u4e00-\u9fff]{4,}")

_CHAT_TEMPLATE = """\
{%- macro content_of(content) -%}
{%- if content is string -%}{{ content }}
{%- else -%}
{%- for part in content -%}
{%- if part.type == 'image' or part.type == 'image_url' or 'image' in part -%}
<|vision_start|><|image_pad|><|vision_end|>
{%- elif part.type == 'video' or 'video' in part -%}
<|vision_start|><|video_pad|><|vision_end|>
{%- elif 'text' in part -%}
{{ part.text }}
{%- endif -%}
{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' }}{{ content_of(message.content) }}{{ '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|im_start|>assistant\\n' }}
{%- endif -%}
"""


def chat_template() -> str:
    """The Jinja chat template: Qwen's format, images and videos where they stand in the message, no default system."""
    return _CHAT_TEMPLATE


def byte_symbols() -> dict[int, str]:
    """Byte to the printable character that stands for it in byte-level BPE (GPT-2's table)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    symbols = {byte: chr(byte) for byte in printable}
    spare = iter(range(0x100, 0x200))
    for byte in range(256):
        if byte not in symbols:
            symbols[byte] = chr(next(spare))
    return symbols


def _as_symbols(text: str) -> str:
    symbols = byte_symbols()
    return "".join(symbols[byte] for byte in text.encode())


def build_tokenizer(alphabet: Iterable[str], prompts: Sequence[str]) -> Any:
    """Builds the tokenizer.

    Args:
        alphabet: Characters that get a token each; single bytes need not be named. Order does not matter.
        prompts: Texts whose ASCII words of two letters or more, and runs of four Chinese characters or more, become
            one token each.

    Returns:
        A `tokenizers.Tokenizer` with the special tokens added; ids depend only on the arguments.

    Raises:
        ValueError: If an entry of the alphabet is not one character.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE

    characters = sorted(set(alphabet))
    for character in characters:
        if len(character) != 1:
            raise ValueError(f"the alphabet holds {character!r}; every entry must be one character")
    split = pre_tokenizers.Split(Regex(_PRE_TOKEN), behavior="isolated")
    words = {
        piece
        for text in (*prompts, *CHAT_WORDS)
        for piece, _ in split.pre_tokenize_str(text)
        if len(piece.strip()) > 1 and piece.isascii() and piece.strip().isalpha()
    }
    pieces = [byte_symbols()[byte] for byte in range(256)]
    pieces += [_as_symbols(character) for character in characters if len(character.encode()) > 1]
    pieces += [_as_symbols(word) for word in (*TABLE_RULINGS, *sorted(words))]
    vocabulary = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    phrases = sorted({phrase for text in prompts for phrase in _CHINESE_PHRASE.findall(text)})
    tokenizer.add_tokens([AddedToken(phrase, special=False, normalized=False) for phrase in phrases])
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    return tokenizer


def embedding_rows(tokenizer: Any) -> int:
    """Rows of the embedding for a tokenizer: its size rounded up to a multiple of `VOCABULARY_MULTIPLE`."""
    size = int(tokenizer.get_vocab_size())
    return -(-size // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE


def special_token_ids(tokenizer: Any) -> dict[str, int]:
    """Id of each special token by its text."""
    return {token: int(tokenizer.token_to_id(token)) for token in SPECIAL_TOKENS}


def tokenizer_config() -> dict[str, Any]:
    """`tokenizer_config.json`: a plain fast tokenizer, `<|im_end|>` ends a sequence.

    Written by hand, because what transformers 5 saves (`extra_special_tokens` as a list) transformers 4 cannot read.
    """
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "additional_special_tokens": [t for t in SPECIAL_TOKENS if t not in ("<|im_end|>", "<|endoftext|>")],
        "clean_up_tokenization_spaces": False,
        "model_max_length": 131_072,
    }


def default_tokenizer() -> Any:
    """The tokenizer over the OCR generator's alphabet and prompts."""
    from .ocr_source import alphabet, prompts

    return build_tokenizer(alphabet(), prompts())


def run_tokenizer(folder: Path) -> Any:
    """The tokenizer that a training run left in its folder: its ids must outlive changes of the generator.

    Raises:
        FileNotFoundError: If the folder has none.
    """
    from tokenizers import Tokenizer

    path = folder / TOKENIZER_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; weights are useless without the tokenizer they were trained with")
    return Tokenizer.from_file(str(path))


def main() -> None:
    """Writes the tokenizer files to a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="folder to write tokenizer.json and tokenizer_config.json to")
    arguments = parser.parse_args()
    tokenizer = default_tokenizer()
    arguments.out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(arguments.out / TOKENIZER_FILE))
    (arguments.out / "tokenizer_config.json").write_text(json.dumps(tokenizer_config(), indent=2), encoding="utf-8")
    print(f"{tokenizer.get_vocab_size()} tokens ({embedding_rows(tokenizer)} embedding rows) in {arguments.out}")


if __name__ == "__main__":
    main()
