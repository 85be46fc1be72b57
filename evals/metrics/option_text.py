"""Which answer option a text names by its words: exactly, at its beginning, or as the only one that occurs.

An option that lies inside a longer one ("red" in "dark red") is not found where the longer one stands; a number is
found only as a whole number; a negated option ("not red", "不是红色") is not named.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_MARKUP = str.maketrans("", "", '*`#"“”「」『』')
_ARTICLE = re.compile(r"^(?:an?|the) (?=\w)")
_NEGATED_BEFORE = re.compile(
    r"(?:\bnot|n['’]t|\bnever|\bwithout|\bneither|\bnor|\brather than|\binstead of|\bunlike|\bexcept"
    r"|\brules? out|\bruled out|\beliminated?|不是|并非|没有|而非|不会是|不可能是|除了|排除|不)"
    r"\s*(?:be\s+)?(?:a|an|the|any|really|actually)?\s*$"
)
_NEGATED_AFTER = re.compile(
    r"\s*(?:(?:is|are|was|were|would be|can be|seems)\s+)?(?:not\b|wrong\b|incorrect\b|false\b|ruled out|eliminated)"
    r"|\s*(?:isn|aren|wasn|doesn|can)['’]t\b|\s*(?:是|都是)?(?:错|不对|不正确|不符|不是|有误|被?排除)"
)
_BEGINNING_ENDS = re.compile(r"[.;:!。]")
_VERDICTS = frozenset({"yes", "no", "true", "false", "是", "否", "对", "错", "有", "没有", "是的", "不是"})
"""Options that a sentence may follow after a comma: "Yes, there are no others." """


@dataclass(frozen=True, slots=True)
class OptionTexts:
    """The options of a question, ready to be searched for.

    Attributes:
        letters: Letters of the options that exist, in order.
        by_text: Normalised text to the letters that have it (more than one makes it ambiguous).
        patterns: Normalised text and its pattern, longest text first.
        initials: First characters of the texts that are longer than one character.
        searched_chars: Longest answer in which an option's only mention is taken for the choice.
    """

    letters: tuple[str, ...]
    by_text: Mapping[str, tuple[str, ...]]
    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    initials: frozenset[str]
    searched_chars: int


def existing_options(options: Mapping[str, object]) -> dict[str, str]:
    """Leaves out the options that do not exist: None, NaN, and text that is empty or `nan` (as TSV readers give it).

    Args:
        options: Letter to text.
    """
    existing = {}
    for letter, value in options.items():
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        text = str(value).strip()
        if text and text.lower() != "nan":
            existing[letter.upper()] = text
    return existing


def normalise_answer_text(text: str) -> str:
    """Case, width, markup, white space, a leading article and closing punctuation do not distinguish options."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_MARKUP)
    elif "*" in text or '"' in text or "`" in text or "#" in text:
        text = text.translate(_MARKUP)
    text = " ".join(text.split()).casefold().rstrip(" .。!;,、")
    return _ARTICLE.sub("", text) if text.startswith(("a ", "an ", "the ")) else text


def option_texts(options: Mapping[str, str]) -> OptionTexts:
    """Prepares options to be searched for.

    Args:
        options: Letter to text of the options that exist.
    """
    letters: dict[str, list[str]] = defaultdict(list)
    for letter, text in options.items():
        letters[normalise_answer_text(text) or text.casefold()].append(letter)
    longest_first = sorted(letters, key=len, reverse=True)
    return OptionTexts(
        tuple(options),
        {text: tuple(found) for text, found in letters.items()},
        tuple((text, _pattern(text)) for text in longest_first),
        frozenset(text[0] for text in letters if len(text) > 1),
        2 * sum(map(len, options.values())) + 80,
    )


def _pattern(text: str) -> re.Pattern[str]:
    before, after = "", ""
    if text[0].isascii() and text[0].isalnum():
        before = r"(?<![a-z0-9_.\-])(?<!\d,)" if text[0].isdigit() else r"(?<![a-z0-9_])"
    if text[-1].isascii() and text[-1].isalnum():
        after = r"(?![a-z0-9_%°]|[.,:/]\d)" if text[-1].isdigit() else r"(?![a-z0-9_+#])"
    return re.compile(before + re.escape(text) + after)


def equal_option(text: str, options: OptionTexts) -> str | None:
    """The option whose text the whole answer is.

    Args:
        text: A normalised answer.
        options: Prepared options.
    """
    letters = options.by_text.get(text, ())
    return letters[0] if len(letters) == 1 else None


def leading_option(text: str, options: OptionTexts) -> str | None:
    """The option that the answer begins with, set off by punctuation ("Yes, there are no others").

    Args:
        text: A normalised answer.
        options: Prepared options.
    """
    for option, pattern in options.patterns:
        found = pattern.match(text)
        if found is None:
            continue
        is_set_off = _BEGINNING_ENDS.match(text, found.end()) or (
            option in _VERDICTS and text.startswith(",", found.end())
        )
        if is_set_off and not _NEGATED_AFTER.match(text, found.end() + 1):
            return equal_option(option, options)
        return None
    return None


def named_option(text: str, options: OptionTexts) -> str | None:
    """The only option that occurs in the text without being negated.

    Args:
        text: A normalised text.
        options: Prepared options.
    """
    letters = set(_named(text, options))
    return letters.pop() if len(letters) == 1 else None


def _named(text: str, options: OptionTexts) -> Iterable[str]:
    remaining = text
    for option, pattern in options.patterns:
        if option not in remaining:
            continue
        for found in pattern.finditer(remaining):
            before = text[max(0, found.start() - 24) : found.start()]
            if not _NEGATED_BEFORE.search(before) and not _NEGATED_AFTER.match(text, found.end()):
                yield from options.by_text[option]
        remaining = pattern.sub(lambda match: "\x00" * len(match[0]), remaining)
