"""Which option of a multiple-choice question an answer chooses.

In this order, the first that decides: the answer is an option's letter; it is an option's text; it states a letter
by a fixed grammar in English and Chinese ("The answer is (B).", "答案是B", "B. apple", a line that is only "B"); it
states an option's text ("The answer is blue"); it mentions one single letter as an option ("option B", "(B)"); it names
one single option's text. Nothing is ever guessed: an answer that states two options, or an option that does not exist,
or none, is `unparsed`. "A" and "a" before a noun are articles, not letters.

VLMEvalKit's rules read fewer styles (no Chinese statement, no small letter); where they find a letter, so do these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.option_text import (
    OptionTexts,
    equal_option,
    existing_options,
    leading_option,
    named_option,
    normalise_answer_text,
    option_texts,
)
from tliveomni_eval.evals.record import Status


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The choice that was read.

    Attributes:
        letter: Upper-case letter of the option, or None when the answer does not resolve.
        rule: The rule that decided: `letter`, `text`, `statement`, `label`, `stated text`, `mention`, `named text`;
            `conflict` when several options are stated, `absent option` when the stated letter does not exist, and
            `none` when no rule applied.
        status: `unparsed` when there is text but no choice; otherwise see `Status`.
    """

    letter: str | None
    rule: str
    status: Status


_Reading = tuple[str | None, str]
_CONFLICT: _Reading = (None, "conflict")

_ANSWER_TAG = re.compile(r"<answer>(.{0,400}?)(?:</answer>|\Z)", re.IGNORECASE | re.DOTALL)
_BOXED = re.compile(r"\\boxed\s*\{\s*(?:\\(?:text|mathrm|textbf)\s*\{)?([^{}]{1,200})\}*")
_MARKDOWN = str.maketrans("", "", "*`#$")
_QUOTED_LINE = re.compile(r"^\s*>\s?", re.MULTILINE)
_EXACT = re.compile(r"[\s(\[{<\"'“‘【「]*([A-Za-z])[\s)\]}>\"'”’】」.,:;。、!]*")

_OPEN = r"[\s(\[{<\"'“‘【「:]*"
_LETTER = rf"{_OPEN}(?<![A-Za-z0-9])(?P<letter>[A-Za-z])(?![A-Za-z0-9])"
_NOUN = r"(?:option|choice|letter|answer|number)?"
_SURELY = (
    r"(?:(?:clearly|therefore|thus|definitely|probably|(?:most\s+)?likely|indeed|simply|obviously|actually|hence)\s+)?"
)
_IS = r"(?:is|are|was|would\s+be|should\s+be|must\s+be|will\s+be|(?:seems|appears)\s+to\s+be|=|:|-+>?|→)"

_STATEMENT_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("ans", "choice", "option", "one", "match"),
        re.compile(
            r"\b(?:ans(?:wers?)?|choice(?=[\"']?\s*:)|(?:correct|right|best|final|closest|my)\s+(?:one|option|choice|letter|match))\b[\"'】\]]*"
            r"(?:\s+(?:to|for)\s+(?:this|the)\s+\w+)?(?:\s+(?:here|choice|option|letter))?\s*"
            rf"(?:{_IS}\s*)*{_SURELY}{_NOUN}{_LETTER}",
            re.IGNORECASE,
        ),
    ),
    (
        ("choos", "chose", "select", "pick", "go with", "going with", "opt for"),
        re.compile(
            r"(?<!not )(?<!n't )(?<!never )\b"
            r"(?:choos(?:e|ing)|chose|select(?:ed|ing)?|pick(?:ed)?|go(?:ing)?\s+with|opt\s+for)"
            rf"\s+(?:the\s+)?{_NOUN}{_LETTER}",
            re.IGNORECASE,
        ),
    ),
    (
        ("correct", "right", "best"),
        re.compile(
            r"(?<![A-Za-z0-9'’])\(?(?-i:(?P<letter>[A-Z]))\)?\s*(?:is|would\s+be|seems)\s+(?:the\s+)?(?:most\s+)?"
            r"(?:correct|right|best)(?:\s+(?:answer|option|choice|one|match))?\s*(?=[.,;!\n]|$|because|since|as\b)",
            re.IGNORECASE,
        ),
    ),
    (
        ("it", "this", "so", "thus", "hence", "therefore", "say", "think", "believe", "guess", "conclusion"),
        re.compile(
            r"\b(?:it\s*(?:['’]s|is|must\s+be|should\s+be|would\s+be|has\s+to\s+be)|this\s+is|i(?:['’]d|\s+would)\s+say"
            r"|i\s+(?:think|believe)(?:\s+it(?:['’]s|\s+is))?|my\s+guess\s+is|so|thus|hence|therefore|in\s+conclusion)"
            rf"[,:]?\s*{_SURELY}(?:option\s+|choice\s+)?{_LETTER}(?=[)\].,;:!\"'”’\s]*(?:$|[\n.]))",
            re.IGNORECASE,
        ),
    ),
    (
        ("答案", "选", "正确的是", "回答"),
        re.compile(
            r"(?<![不别非勿没可未])(?:答案|正确的?选项|正确的是|我的选择|回答|选择|选)[\"'】\]]*(?:应该|应当|应|就|可能|大概)?"
            rf"(?:是|为|:|=|选择?|-+>?|→|\s)*(?:选项|字母)?{_LETTER}",
            re.IGNORECASE,
        ),
    ),
    (
        ("正确", "对", "符合", "合适", "准确"),
        re.compile(
            r"(?<![A-Za-z0-9])(?P<letter>[A-Z])\)?\s*(?:选项|项|答案)?(?:才?是|为)?(?:最)?(?:正确|符合|合适|准确|对的|对(?=[。.,\s]|$))"
        ),
    ),
    (
        ("是", "因此", "所以", "故", "综上", "最终", "总之"),
        re.compile(
            rf"(?:(?:我认为|我觉得|应该|应当|显然|大概|肯定|可能|就)是|因此|所以|故|综上所述|综上|最终|总之)[,:]?(?:是|为)?(?:选项)?{_LETTER}"
            r"(?=[)\].,。;:!\"'”’\s]*(?:$|[\n.。]))"
        ),
    ),
)
_STATEMENTS = tuple((re.compile("|".join(words)), pattern) for words, pattern in _STATEMENT_RULES)
"""A quick search for words without which the pattern cannot match, then the pattern."""
_STATEMENTS_IN_ASCII = tuple(rule for rule in _STATEMENTS if rule[0].pattern.isascii())

_STATED_TEXT = re.compile(
    r"(?:\b(?:answer|(?:correct|right|best)\s+(?:option|choice|one))\s*(?:is|would\s+be|should\s+be|must\s+be|:)+"
    r"|(?:答案|正确选项|正确的是|选择|应选|故选)\s*(?:应该|应)?(?:是|为|:)+|(?:我|应该?|故)选)\s*([^\n.。;!]{1,300})",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^[(\[]?([A-Za-z])(?:[)\]][.:,、]?\s*|[.:、]\s*|,\s*(?![A-Z]\b)|\s+-+\s+|\s*[:]\s*)(?=\S)", re.MULTILINE
)
_BARE_LINE = re.compile(r"^[ \t(\[{<\"'“]*([A-Za-z])[ \t)\]}>\"'”.,:;。]*$", re.MULTILINE)
_LETTER_AND_TEXT = re.compile(r"^\(?([A-Za-z])\)?\s+(\S.*)$", re.DOTALL)
_MENTION = re.compile(
    r"(?:\b(?:option|choice|选项)\s*[(\[\"']?|选项\s*[(\[\"']?|[(\[【]\s*)(?-i:(?P<letter>[A-Z]))(?![A-Za-z0-9])|(?<![A-Za-z0-9])(?P<item>[A-Z])\s*(?:选项|项)",
    re.IGNORECASE,
)
_MENTION_DENIED = re.compile(
    r"[)\]】\"'\s]*(?:选项|项)?\s*(?:(?:is|are|was|would\s+be)\s+(?:clearly\s+)?(?:not|wrong|incorrect|false|ruled|eliminated)|isn['’]t|can\s*not|can['’]t"
    r"|doesn['’]t|does\s+not|(?:是|明显|显然)*(?:不|错|有误|排除))",
    re.IGNORECASE,
)
_STATEMENT_DENIED = re.compile(
    r"(?:n['’]t|\bnot|\bnever)\s+(?:\w+\s+){0,4}$|不(?:认为|觉得|确定|知道|能说)[^,。\n]{0,8}$", re.IGNORECASE
)
_DENIED_BEFORE = re.compile(
    r"(?:\bnot|n['’]t|\bexcept|\brule\s+out|\beliminate|不是|不选|并非|排除|除了)\s*(?:the\s+)?$", re.IGNORECASE
)

_ANOTHER = re.compile(
    r"[\s)\]}\"'”]*(?:and|or|&|/|,|、|和|或者?|与|及)\s*(?:option\s+|选项)?[(\[\"']*(?P<other>[A-Z])(?![A-Za-z0-9'’])"
    r"(?!\s*(?:is|are|was|不|错|是|项|选项))"
)
_CLOSED = re.compile(r"[\s]*[)\]}>】」\"'”’]")
_ENDS_HERE = re.compile(r"\s*(?:$|[\n.,;:!?。、(\[]|-+\s|—)")
_DOT_INSIDE = re.compile(r"\.\w")
_SMALL_LABEL = re.compile(r"[a-z][.:、]\s")
_ENUMERATED = re.compile(r"(?<![A-Za-z0-9])([A-Z])\s*[)\].:、]")
_JOINED = re.compile(r"[+#%&°/]|-\w|['’][a-z]|\.\d")
_FOLLOWS_A_LETTER = re.compile(
    r"\s+(?:because|since|as|for|given|which|is|in|by|but|so|due|according|from|based|where|here|not|rather|instead|with\s+the)\b",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"final|therefore|thus|hence|\bso\b|conclusion|wait|actually|correct|因此|所以|故|综上|最终|应该|正确",
    re.IGNORECASE,
)


def read_choice(output: str | None, options: Mapping[str, object]) -> ChoiceAnswer:
    """Reads which option an answer chooses.

    Args:
        output: The model's text, None when the request failed.
        options: Letter to text; options that are empty or `nan` do not exist.

    Returns:
        The choice, or that there is none.
    """
    prepared_options = _prepared(tuple(options.items()))
    if output is not None and len(output) < 8:
        quick = _EXACT.fullmatch(output)
        if quick is not None and quick[1].upper() in prepared_options.letters:
            return ChoiceAnswer(quick[1].upper(), "letter", "ok")
    prepared = read_output(output, keep="end")
    if not prepared.text:
        return ChoiceAnswer(None, "none", prepared.status(parsed=False))
    letter, rule = _read(_without_markup(prepared.text), prepared_options)
    return ChoiceAnswer(letter, rule, prepared.status(parsed=letter is not None))


@lru_cache(maxsize=8192)
def _prepared(options: tuple[tuple[str, object], ...]) -> OptionTexts:
    """Cached, because a question is asked many times."""
    return option_texts(existing_options(dict(options)))


def _without_markup(text: str) -> str:
    if "<" in text:
        tagged = _ANSWER_TAG.findall(text)
        text = tagged[-1] if tagged else text
    if "\\boxed" in text:
        text = _BOXED.sub(r" answer: \1 ", text)
    return _QUOTED_LINE.sub("", text.translate(_MARKDOWN)).strip() if ">" in text else text.translate(_MARKDOWN).strip()


def _read(text: str, options: OptionTexts) -> _Reading:
    exact = _EXACT.fullmatch(text)
    if exact is not None:
        return _existing(exact[1], options, "letter")
    normal = normalise_answer_text(text)
    equal = equal_option(normal, options)
    if equal is not None:
        return equal, "text"
    for rule in (_stated_letter, _labelled):
        reading = rule(text, options)
        if reading is not None:
            return reading
    fragments = [named_option(normalise_answer_text(found), options) for found in _STATED_TEXT.findall(text)]
    stated = {letter for letter in fragments if letter is not None}
    if len(stated) == 1:
        return stated.pop(), "stated text"
    reading = _mentioned(text, options)
    if reading is not None:
        return reading
    named = leading_option(normal, options)
    if named is None and len(normal) <= options.searched_chars:
        named = named_option(normal, options)
    return (named, "named text") if named is not None else (None, "none")


def _existing(letter: str, options: OptionTexts, rule: str) -> _Reading:
    letter = letter.upper()
    return (letter, rule) if letter in options.letters else (None, "absent option")


def _stated_letter(text: str, options: OptionTexts) -> _Reading | None:
    lower = text.lower()
    stated: list[tuple[int, str]] = []
    for words, pattern in _STATEMENTS_IN_ASCII if text.isascii() else _STATEMENTS:
        if words.search(lower) is None:
            continue
        for found in pattern.finditer(text):
            letter = found["letter"]
            if not _is_letter(text, found.start("letter"), options):
                continue
            another = _ANOTHER.match(text, found.end("letter"))
            if another is not None and _states_another(text, another, letter, options):
                return _CONFLICT
            before = text[max(0, found.start() - 40) : found.start()]
            if not (_MENTION_DENIED.match(text, found.end("letter")) or (before and _STATEMENT_DENIED.search(before))):
                stated.append((found.start(), letter.upper()))
    return _decide(text, sorted(stated), options, "statement")


def _states_another(text: str, another: re.Match[str], letter: str, options: OptionTexts) -> bool:
    """Whether "B and C" follows, and not "B, C++" or "B, B"."""
    other = another["other"]
    return other != letter.upper() and other in options.letters and _is_letter(text, another.start("other"), options)


def _decide(text: str, stated: list[tuple[int, str]], options: OptionTexts, rule: str) -> _Reading | None:
    """One letter decides; of several, the last one only when it is said to be final ("So the correct answer is C")."""
    if not stated:
        return None
    if len({letter for _, letter in stated}) == 1:
        return _existing(stated[0][1], options, rule)
    place, last = stated[-1]
    before = re.split(r"[\n.。;!]", text[max(0, place - 60) : place])[-1]
    if _FINAL.search(before + text[place : place + 24]):
        return _existing(last, options, rule)
    return _CONFLICT


def _is_letter(text: str, place: int, options: OptionTexts) -> bool:
    """Whether the character stands for an option, and is no article ("a banana"), initial or part of a word ("C++")."""
    letter, rest = text[place], text[place + 1 : place + 40]
    if _JOINED.match(rest):
        return False
    if letter.lower() in options.initials and any(_begins(letter + rest, option) for option in options.by_text):
        return False
    if _CLOSED.match(rest) or not rest:
        return True
    if letter.islower() and _DOT_INSIDE.match(rest):
        return False
    if _ENDS_HERE.match(rest) or _FOLLOWS_A_LETTER.match(rest):
        return True
    following = rest.lstrip()[:1]
    if not following.isascii():
        return True
    return letter.isupper() and letter not in "AI"


def _begins(text: str, option: str) -> bool:
    following = text[len(option) : len(option) + 1]
    return len(option) > 1 and text.casefold().startswith(option) and not (following.isascii() and following.isalnum())


def _labelled(text: str, options: OptionTexts) -> _Reading | None:
    bare = {letter.upper() for letter in _BARE_LINE.findall(text)}
    if len(bare) == 1:
        return _existing(bare.pop(), options, "label")
    labels = set(_labels(text, options))
    if len(labels) > 1 or len(bare) > 1:
        return _CONFLICT if _begins_with_label(text) else None
    if labels and _begins_with_label(text):
        if set(options.letters) <= set(_ENUMERATED.findall(text)):
            return _CONFLICT
        return _existing(labels.pop(), options, "label")
    pair = _LETTER_AND_TEXT.match(text)
    if pair is None:
        return None
    letter, rest = pair[1].upper(), pair[2]
    if equal_option(normalise_answer_text(rest), options) == letter:
        return letter, "label"
    if (
        pair[1].isupper()
        and _FOLLOWS_A_LETTER.match(" " + rest)
        and not rest.lower().startswith(("is ", "in ", "for "))
    ):
        return _existing(letter, options, "label")
    return None


def _labels(text: str, options: OptionTexts) -> Iterator[str]:
    for found in _LABEL.finditer(text):
        letter = found[1]
        is_small = letter.islower() and found[0].rstrip()[-1:] not in ")]"
        if not is_small or (letter.upper() in options.letters and _SMALL_LABEL.match(text, found.start())):
            yield letter.upper()


def _begins_with_label(text: str) -> bool:
    return _LABEL.match(text) is not None


def _mentioned(text: str, options: OptionTexts) -> _Reading | None:
    letters = set()
    for found in _MENTION.finditer(text):
        letter = found["letter"] or found["item"]
        denied = _MENTION_DENIED.match(text, found.end()) or _DENIED_BEFORE.search(
            text[max(0, found.start() - 20) : found.start()]
        )
        if not denied and letter in options.letters:
            letters.add(letter)
    if len(letters) > 1:
        return _CONFLICT
    return (letters.pop(), "mention") if letters else None


def letters_of(options: Iterable[str]) -> dict[str, str]:
    """Letters for a list of option texts: A, B, C, … (at most 26)."""
    return {chr(ord("A") + index): text for index, text in enumerate(options)}
