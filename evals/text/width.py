"""Full-width characters folded to their usual width and spaces to one form; no mark with a meaning is lost.

Only the width is folded, not the whole of NFKC: NFKC also turns `10²` into `102`, which would blur two different
prices. Nothing here deletes `.` or `¥`.
"""

from __future__ import annotations

import re

_FULL_WIDTH: dict[int, str] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_FULL_WIDTH |= {0x3000: " ", 0x00A0: " ", 0xFFE5: "¥", 0xFFE0: "¢", 0xFFE1: "£", 0xFFE6: "₩"}

CJK = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff"
"""Inside of a regular-expression class: ideographs and kana, which are written without spaces."""

_SPACES = re.compile(r"\s+")
_SPACE_BESIDE_CJK = re.compile(rf"(?<=[{CJK}]) | (?=[{CJK}])")


def fold_width(text: str) -> str:
    """Fold full-width ASCII, currency signs and spaces to their usual width.

    >>> fold_width("￥１９．９")
    '¥19.9'
    """
    return text.translate(_FULL_WIDTH)


def fold_spaces(text: str) -> str:
    r"""Strip the ends, make every run of white space one space, and drop spaces beside ideographs and kana.

    >>> fold_spaces(" 买一 送一\n  Buy 1  get 1 ")
    '买一送一Buy 1 get 1'
    """
    return _SPACE_BESIDE_CJK.sub("", _SPACES.sub(" ", text).strip())
