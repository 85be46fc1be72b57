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

from tliveomni_eval.evals.metrics import choice_grammar as grammar
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
        quick = grammar.EXACT.fullmatch(output)
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
        tagged = grammar.ANSWER_TAG.findall(text)
        text = tagged[-1] if tagged else text
    if "\\boxed" in text:
        text = grammar.BOXED.sub(r" answer: \1 ", text)
    # Looking for the characters one by one is faster than a translation that changes nothing, as most do.
    if "*" in text or "`" in text or "#" in text or "$" in text:
        text = text.translate(grammar.MARKDOWN)
    return (grammar.QUOTED_LINE.sub("", text) if ">" in text else text).strip()


def _read(text: str, options: OptionTexts) -> _Reading:
    exact = grammar.EXACT.fullmatch(text)
    if exact is not None:
        return _existing(exact[1], options, "letter")
    normal = normalise_answer_text(text)
    equal = equal_option(normal, options)
    if equal is not None:
        return equal, "text"
    for rule in (_letter_with_its_text, _stated_letter, _labelled):
        reading = rule(text, options)
        if reading is not None:
            return reading
    fragments = [named_option(normalise_answer_text(found), options) for found in grammar.STATED_TEXT.findall(text)]
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


def _letter_with_its_text(text: str, options: OptionTexts) -> _Reading | None:
    """Reads "B. Banana", also where the text looks like a statement ("C. 选A")."""
    label = grammar.LABEL.match(text)
    if label is None:
        return None
    letter = label[1].upper()
    own = letter in options.letters and equal_option(normalise_answer_text(text[label.end() :]), options) == letter
    return (letter, "label") if own else None


def _stated_letter(text: str, options: OptionTexts) -> _Reading | None:
    lower = text.lower()
    is_ascii = text.isascii()
    if (grammar.ANY_WORD_IN_ASCII if is_ascii else grammar.ANY_WORD).search(lower) is None:
        return None
    stated: list[tuple[int, str]] = []
    for words, pattern in grammar.STATEMENTS_IN_ASCII if is_ascii else grammar.STATEMENTS:
        if words.search(lower) is None:
            continue
        for found in pattern.finditer(text):
            letter = found["letter"]
            if not _is_letter(text, found.start("letter"), options):
                continue
            another = grammar.ANOTHER.match(text, found.end("letter"))
            if another is not None and _states_another(text, another, letter, options):
                return _CONFLICT
            before = text[max(0, found.start() - 40) : found.start()]
            if not (
                grammar.MENTION_DENIED.match(text, found.end("letter"))
                or (before and grammar.STATEMENT_DENIED.search(before))
            ):
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
    if grammar.FINAL.search(before + text[place : place + 24]):
        return _existing(last, options, rule)
    return _CONFLICT


def _is_letter(text: str, place: int, options: OptionTexts) -> bool:
    """Whether the character stands for an option, and is no article ("a banana"), initial or part of a word ("C++")."""
    letter, rest = text[place], text[place + 1 : place + 40]
    if grammar.JOINED.match(rest):
        return False
    if letter.lower() in options.initials and any(_begins(letter + rest, option) for option in options.by_text):
        return False
    if grammar.CLOSED.match(rest) or not rest:
        return True
    if letter.islower() and grammar.DOT_INSIDE.match(rest):
        return False
    if grammar.ENDS_HERE.match(rest) or grammar.FOLLOWS_A_LETTER.match(rest):
        return True
    following = rest.lstrip()[:1]
    if not following.isascii():
        return True
    return letter.isupper() and letter not in "AI"


def _begins(text: str, option: str) -> bool:
    following = text[len(option) : len(option) + 1]
    return len(option) > 1 and text.casefold().startswith(option) and not (following.isascii() and following.isalnum())


def _labelled(text: str, options: OptionTexts) -> _Reading | None:
    bare = {letter.upper() for letter in grammar.BARE_LINE.findall(text)}
    if len(bare) == 1:
        return _existing(bare.pop(), options, "label")
    labels = set(_labels(text, options))
    if len(labels) > 1 or len(bare) > 1:
        return _CONFLICT if _begins_with_label(text) else None
    if labels and _begins_with_label(text):
        if set(options.letters) <= set(grammar.ENUMERATED.findall(text)):
            return _CONFLICT
        return _existing(labels.pop(), options, "label")
    pair = grammar.LETTER_AND_TEXT.match(text)
    if pair is None:
        return None
    letter, rest = pair[1].upper(), pair[2]
    if equal_option(normalise_answer_text(rest), options) == letter:
        return letter, "label"
    if (
        pair[1].isupper()
        and grammar.FOLLOWS_A_LETTER.match(" " + rest)
        and not rest.lower().startswith(("is ", "in ", "for "))
    ):
        return _existing(letter, options, "label")
    return None


def _labels(text: str, options: OptionTexts) -> Iterator[str]:
    for found in grammar.LABEL.finditer(text):
        letter = found[1]
        is_small = letter.islower() and found[0].rstrip()[-1:] not in ")]"
        if not is_small or (letter.upper() in options.letters and grammar.SMALL_LABEL.match(text, found.start())):
            yield letter.upper()


def _begins_with_label(text: str) -> bool:
    return grammar.LABEL.match(text) is not None


def _mentioned(text: str, options: OptionTexts) -> _Reading | None:
    letters = set()
    for found in grammar.MENTION.finditer(text):
        letter = found["letter"] or found["item"]
        denied = grammar.MENTION_DENIED.match(text, found.end()) or grammar.DENIED_BEFORE.search(
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
