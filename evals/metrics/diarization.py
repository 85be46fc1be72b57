"""Speaker-attributed transcription: who said what, and when.

Headline is `cp_cer`: each speaker's words as one text, speakers matched one to one at the least number of errors.
`tcp_cer` also asks that words lie within 5 s of where they were said; `orc_cer` forgives wrong speakers, so that the
difference to `cp_cer` is what confusing speakers cost. DER and JER compare times only. Tokens are those of speech
recognition (`text/normalizer.py`, `text/tokens.py`), Chinese by character.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from tliveomni_eval.evals.metrics.speaker_time_errors import speaker_time_errors
from tliveomni_eval.evals.metrics.speaker_token_errors import TimedTokens, cp_errors, orc_errors, tcp_errors
from tliveomni_eval.evals.metrics.speaker_turns import Turn, parse_turns
from tliveomni_eval.evals.record import Counts, Status
from tliveomni_eval.evals.text.normalizer import NORMALIZER_VERSION, normalize_transcript
from tliveomni_eval.evals.text.tokens import Language, tokenize
from tliveomni_eval.evals.text.wrapping import after_reasoning

MAX_OUTPUT_CHARS = 20_000
"""An output longer than this (stripped, in code points) is cut for scoring and its status is `truncated`."""
TCP_COLLAR_S = 5.0
_DRAWN_TURNS = 100
_DRAWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class DiarizationScore:
    """Counts of one recording; all but the last are errors over length, lower is better.

    Attributes:
        cp_cer: Errors over reference tokens, speakers matched one to one.
        tcp_cer: The same, with words at most 5 s from their time.
        orc_cer: The same, wrong speakers forgiven. `detail["orc_is_upper_bound"]` where the search was bounded.
        der: Seconds missed, invented or given to another speaker, over seconds of speech; no collar, overlap included.
        jer: Jaccard errors over reference speakers; no collar.
        speaker_count_accuracy: 1 if the number of speakers is right; higher is better.
        status: See `record.Status`.
        detail: `turns` (those of the output), `mapping` of its speakers to those of the reference, `invalid_turns`,
            and the seconds `missed`, `false_alarm` and `confusion`.
    """

    cp_cer: Counts
    tcp_cer: Counts
    orc_cer: Counts
    der: Counts
    jer: Counts
    speaker_count_accuracy: Counts
    status: Status
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Counts]:
        """Metric name to counts."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Counts)}


def score_diarization(
    reference_turns: Sequence[Turn], output_text: str | None, *, lang: Language = "mixed"
) -> DiarizationScore:
    """Score the turns of one output.

    Args:
        reference_turns: What was said; may be empty (nobody spoke).
        output_text: The output of the model, any text at all; None where the request failed.
        lang: Decides whether a number is one token (English) or one a digit.
    """
    output = after_reasoning(output_text or "").strip()
    cut = len(output) > MAX_OUTPUT_CHARS
    parsed = parse_turns(output[:MAX_OUTPUT_CHARS])
    right_speakers, right = _by_speaker(reference_turns, lang)
    read_speakers, read = _by_speaker(parsed.turns, lang)
    cp = cp_errors([speaker.flat() for speaker in right], [speaker.flat() for speaker in read])
    tcp = tcp_errors(right, read, TCP_COLLAR_S)
    stream_of = dict(cp.assignment)
    index_of = {speaker: index for index, speaker in enumerate(right_speakers)}
    utterances = [
        ((turn.start, turn.end), index_of[turn.speaker], tokenize(normalize_transcript(turn.text), lang))
        for turn in sorted(reference_turns, key=lambda turn: turn.start)
    ]
    orc = orc_errors(
        [tokens for _, _, tokens in utterances],
        [speaker.flat() for speaker in read],
        starts=[
            [stream_of.get(index, 0) for _, index, _ in utterances],
            [_closest_stream(span, read) for span, _, _ in utterances],
        ],
    )
    time = speaker_time_errors(_spans(reference_turns), _spans(parsed.turns))
    status: Status = "ok"
    if output_text is None:
        status = "error"
    elif not output:
        status = "empty"
    elif cut or parsed.incomplete:
        status = "truncated"
    elif not parsed.turns:
        status = "unparsed"
    detail: dict[str, Any] = {
        "normalizer_version": NORMALIZER_VERSION,
        "turns": [
            [turn.speaker, turn.start, turn.end, turn.text[:_DRAWN_CHARS]] for turn in parsed.turns[:_DRAWN_TURNS]
        ],
        "mapping": {read_speakers[column]: right_speakers[row] for row, column in cp.assignment},
        "missed_s": round(time.missed, 3),
        "false_alarm_s": round(time.false_alarm, 3),
        "confusion_s": round(time.confusion, 3),
    }
    if parsed.invalid:
        detail["invalid_turns"] = parsed.invalid
    if not orc.exact:
        detail["orc_is_upper_bound"] = True
    if not cp.counts.den:
        detail["rate_undefined"] = True
    return DiarizationScore(
        cp_cer=cp.counts,
        tcp_cer=tcp.counts,
        orc_cer=orc.counts,
        der=time.der,
        jer=time.jer,
        speaker_count_accuracy=Counts(float(len(right) == len(read)), 1),
        status=status,
        detail=detail,
    )


def _by_speaker(turns: Sequence[Turn], lang: Language) -> tuple[list[str], list[TimedTokens]]:
    grouped: dict[str, list[Turn]] = {}
    for turn in sorted(turns, key=lambda turn: turn.start):
        grouped.setdefault(turn.speaker, []).append(turn)
    streams = [
        TimedTokens(
            tokens=tuple(tuple(tokenize(normalize_transcript(turn.text), lang)) for turn in spoken),
            spans=tuple((turn.start, turn.end) for turn in spoken),
        )
        for spoken in grouped.values()
    ]
    return list(grouped), streams


def _closest_stream(span: tuple[float, float], streams: Sequence[TimedTokens]) -> int:
    """The stream that speaks longest during a span of time, the first one if none does."""

    def seconds(stream: TimedTokens) -> float:
        return sum(max(0.0, min(end, span[1]) - max(start, span[0])) for start, end in stream.spans)

    return max(range(len(streams)), key=lambda index: seconds(streams[index]), default=0)


def _spans(turns: Sequence[Turn]) -> list[tuple[str, float, float]]:
    return [(turn.speaker, turn.start, turn.end) for turn in turns]
