"""What models put around an answer without changing it: code fences, quotes, emphasis, white space."""

from __future__ import annotations

import re

_FENCE = re.compile(r"```[ \t]*[A-Za-z]*[ \t]*\r?\n(?P<body>.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_ONE_LINE_FENCE = re.compile(r"\A```(?P<body>[^`\n]*)```\Z")
_INVISIBLE = dict.fromkeys([0x200B, 0x200E, 0x200F, 0xFEFF])
_PAIRS = (
    ("**", "**"), ("__", "__"), ("`", "`"), ('"', '"'), ("'", "'"),
    ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"),
)  # fmt: skip
_MAX_LAYERS = 4


def after_reasoning(text: str) -> str:
    """What follows the last `</think>`; nothing where a reasoning block never closes.

    >>> after_reasoning("<think>19 or 199?</think> 19.9")
    ' 19.9'
    """
    if "</think>" in text:
        return text.rsplit("</think>", 1)[1]
    return "" if text.lstrip().startswith("<think>") else text


def unfence(text: str) -> str:
    r"""The body of the first Markdown code fence in `text`, or the stripped text where there is none.

    An opening fence without a closing one (an answer that was cut) reaches to the end of the text.

    >>> unfence("Here it is:\n```html\n<table></table>\n```\nDone.")
    '<table></table>'
    """
    stripped = text.strip()
    match = _ONE_LINE_FENCE.match(stripped) or _FENCE.search(stripped)
    return match["body"].strip() if match else stripped


def unwrap(text: str) -> str:
    """`text` without white space, code fence, quotes and emphasis around the whole of it, and without invisible marks.

    >>> unwrap(' **"AB-12"** ')
    'AB-12'
    """
    inner = unfence(text.translate(_INVISIBLE))
    for _ in range(_MAX_LAYERS):
        for opening, closing in _PAIRS:
            if len(inner) > len(opening) + len(closing) and inner.startswith(opening) and inner.endswith(closing):
                body = inner[len(opening) : -len(closing)]
                if opening not in body and closing not in body:
                    inner = body.strip()
                    break
        else:
            return inner
    return inner
