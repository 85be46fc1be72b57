"""Contextual speech recognition: a transcript against its reference, with hotwords, prices and SKUs.

Both sides pass through `text/normalizer.py` and `text/tokens.py` (Chinese by character, Latin by word). Headline is
`cer`: errors over reference tokens, which is the character error rate in Chinese, the word error rate in English and
the mixed error rate (MER) in mixed speech. Because a wrong digit is one error among many, prices and SKUs are compared
once more as wholes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from tliveomni_eval.evals.metrics.hotwords import Hotword, biased_errors, hotword_hits, occurrences
from tliveomni_eval.evals.metrics.named_entity_error import entity_misses
from tliveomni_eval.evals.metrics.token_errors import token_errors
from tliveomni_eval.evals.record import Counts, Status
from tliveomni_eval.evals.text.amounts import amounts_in
from tliveomni_eval.evals.text.degenerate import echoes, is_repetitive
from tliveomni_eval.evals.text.normalizer import NORMALIZER_VERSION, normalize_transcript
from tliveomni_eval.evals.text.tokens import LANGUAGES, Language, tokenize
from tliveomni_eval.evals.text.wrapping import after_reasoning, unwrap

MAX_OUTPUT_CHARS = 20_000
"""An output longer than this (stripped, in code points) is cut for scoring and its status is `truncated`. Twelve
minutes of fast speech have about 4,000 Chinese characters or 13,000 English ones."""
_DRAWN_TOKENS = 400
_DRAWN_HOTWORDS = 200
_ECHOED_HOTWORDS = 3

_SKU = re.compile(r"(?<![a-z0-9])[a-z]{1,8}[ ]?[0-9]{2,}[a-z0-9]*(?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class AsrScore:
    """Counts of one utterance. A count with denominator 0 says nothing of its metric and adds nothing to a sum.

    Attributes:
        cer: Errors over reference tokens; lower is better. An empty reference leaves errors over 0.
        biased_cer: The same on tokens inside of hotwords.
        unbiased_cer: The same on all other tokens.
        hotword_precision: Hotwords written that were said, over those written.
        hotword_recall: Hotwords said that were written, over those said.
        hotword_f1: Their harmonic mean as counts that add.
        ne_fnr: Hotwords said and missing, over those said; lower is better.
        ne_fnr_fuzzy: The same, where about half of a hotword's tokens suffice.
        price_exact: Amounts of money said and written alike, over the larger number of those said and those written.
        sku_exact: Likewise for product codes (a letter run and two digits or more).
        status: See `record.Status`.
        detail: Normalised texts, tokens and alignment for drawing; the flags `repetitive`, `echoes_prompt`,
            `echoes_hotwords` and `rate_undefined` where they apply.
    """

    cer: Counts
    biased_cer: Counts
    unbiased_cer: Counts
    hotword_precision: Counts
    hotword_recall: Counts
    hotword_f1: Counts
    ne_fnr: Counts
    ne_fnr_fuzzy: Counts
    price_exact: Counts
    sku_exact: Counts
    status: Status
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Counts]:
        """Metric name to counts."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Counts)}


def score_asr(
    reference: str,
    hypothesis: str | None,
    *,
    lang: Language,
    hotwords: Sequence[str] = (),
    prompt: str | None = None,
) -> AsrScore:
    """Score one transcript.

    Args:
        reference: What was said; may be empty (nobody spoke).
        hypothesis: The output of the model, any text at all; None where the request failed.
        lang: Decides whether a number is one token (English) or one a digit.
        hotwords: The bias list given to the model, absent words included. Words that were said are the entities of
            NE-FNR.
        prompt: The prompt, to notice an output that gives it back.

    Raises:
        ValueError: If the language is unknown.
    """
    if lang not in LANGUAGES:
        raise ValueError(f"unknown language {lang!r}: expected one of {', '.join(LANGUAGES)}")
    output = after_reasoning(hypothesis or "").strip()
    cut = len(output) > MAX_OUTPUT_CHARS
    said_text = normalize_transcript(reference)
    written_text = normalize_transcript(unwrap(output[:MAX_OUTPUT_CHARS]))
    said, written = tokenize(said_text, lang), tokenize(written_text, lang)
    words = _as_tokens(hotwords, lang)
    errors = token_errors(said, written)
    split = biased_errors(said, written, errors, words)
    hits = hotword_hits(said, written, words)
    entities = entity_misses(said, written, words)
    prices = amounts_in(said_text), amounts_in(written_text)
    skus = _skus(said_text), _skus(written_text)
    status: Status = "ok"
    if hypothesis is None:
        status = "error"
    elif not output:
        status = "empty"
    elif cut:
        status = "truncated"
    detail: dict[str, Any] = {
        "normalizer_version": NORMALIZER_VERSION,
        "reference_tokens": said[:_DRAWN_TOKENS],
        "hypothesis_tokens": written[:_DRAWN_TOKENS],
        "alignment": [span for span in errors.alignment if span[0] != "equal"][:_DRAWN_TOKENS],
    }
    if words:
        detail["hotwords"] = _hotword_counts(said, written, words, lang)
    for name, (right, read) in (("prices", prices), ("skus", skus)):
        if right or read:
            detail[name] = {"reference": sorted(right.elements())[:20], "hypothesis": sorted(read.elements())[:20]}
    if not said:
        detail["rate_undefined"] = True
    if is_repetitive(said, written):
        detail["repetitive"] = True
    if prompt and echoes(tokenize(normalize_transcript(prompt), lang), said, written):
        detail["echoes_prompt"] = True
    if hits.invented >= max(_ECHOED_HOTWORDS, len(words) / 2):
        detail["echoes_hotwords"] = True
    return AsrScore(
        cer=errors.counts,
        biased_cer=split.biased,
        unbiased_cer=split.unbiased,
        hotword_precision=hits.precision,
        hotword_recall=hits.recall,
        hotword_f1=hits.f1,
        ne_fnr=entities.exact,
        ne_fnr_fuzzy=entities.fuzzy,
        price_exact=_exact(*prices),
        sku_exact=_exact(*skus),
        status=status,
        detail=detail,
    )


def _as_tokens(hotwords: Sequence[str], lang: Language) -> list[Hotword]:
    return [word for word in dict.fromkeys(_hotword_tokens(word, lang) for word in hotwords) if word]


def _hotword_counts(
    said: Sequence[str], written: Sequence[str], words: Sequence[Hotword], lang: Language
) -> list[list[Any]]:
    """[hotword, times said, times written] of each, for drawing; absent ones that nobody wrote are left out."""
    counts = zip(occurrences(said, words).items(), occurrences(written, words).values(), strict=True)
    return [[_readable(word, lang), right, read] for (word, right), read in counts if right or read][:_DRAWN_HOTWORDS]


def _readable(word: Hotword, lang: Language) -> str:
    """Latin words apart, Chinese characters together."""
    text = word[0]
    for token in word[1:]:
        is_latin = lang != "zh" and text[-1].isascii() and token[0].isascii()
        text += f" {token}" if is_latin else token
    return text


@lru_cache(maxsize=16_384)
def _hotword_tokens(hotword: str, lang: Language) -> Hotword:
    return tuple(tokenize(normalize_transcript(hotword), lang))


def _skus(text: str) -> Counter[str]:
    return Counter(match.group().replace(" ", "") for match in _SKU.finditer(text))


def _exact(said: Counter[str], written: Counter[str]) -> Counts:
    return Counts((said & written).total(), max(said.total(), written.total()))
