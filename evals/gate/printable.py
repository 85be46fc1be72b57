"""Text that a model, a data set or a file name controls, made safe to print."""

from __future__ import annotations

import html
import unicodedata

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MARKDOWN = str.maketrans({character: f"&#{ord(character)};" for character in "\\`*_{}[]()+-.!|~$:"})


def printable(text: str, longest: int = 60) -> str:
    r"""One line without control characters, terminal escapes, bidirectional overrides or lone surrogates.

    Args:
        text: Any text.
        longest: Most characters that are kept; the middle of a longer text is left out.

    >>> printable("price" + chr(27) + "[31m")
    'price\\\\x1b[31m'
    """
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[-(longest // 2) :]}"
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii") if unicodedata.category(character) in _UNSAFE else character
        for character in text
    )


def markdown_code(text: str, longest: int = 60) -> str:
    """Text as a code span of a Markdown table cell that no character of it can leave.

    Markdown works inside inline HTML, so its punctuation becomes entities; inside `<code>` GitHub makes no mentions or
    links.
    """
    return f"<code>{html.escape(printable(text, longest)).translate(_MARKDOWN)}</code>"


def markdown_text(text: str, longest: int = 600) -> str:
    """Text as plain Markdown prose: no character of it is markup, a link, a mention or an issue number."""
    escaped = html.escape(printable(text, longest)).translate(_MARKDOWN)
    return escaped.replace("@", "@&#8203;")
