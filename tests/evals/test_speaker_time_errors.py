"""DER and JER against pyannote.metrics."""

import random
import warnings

import pytest
from pyannote.core import Annotation, Segment
from pyannote.metrics.diarization import DiarizationErrorRate, JaccardErrorRate
from tliveomni_eval.evals.metrics.speaker_time_errors import SpeakerSpan, speaker_time_errors
from tliveomni_eval.evals.record import Counts


def random_spans(rng: random.Random, speakers: str) -> list[SpeakerSpan]:
    spans = []
    for _ in range(rng.randrange(1, 9)):
        start = rng.uniform(0, 20)
        spans.append((rng.choice(speakers), start, start + rng.uniform(0.1, 6)))
    return spans


def annotation(spans: list[SpeakerSpan]) -> Annotation:
    made = Annotation()
    for track, (speaker, start, end) in enumerate(spans):
        made[Segment(start, end), track] = speaker
    return made.support()


@pytest.mark.parametrize("collar_s", [0.0, 0.5])
@pytest.mark.parametrize("skip_overlap", [False, True])
def test_der_and_jer_equal_pyannote_on_random_dialogues(collar_s: float, skip_overlap: bool) -> None:
    rng = random.Random(int(collar_s * 10) + skip_overlap)
    equal_jer = 0
    for _ in range(125):
        reference, hypothesis = random_spans(rng, "ABC"), random_spans(rng, "wxyz")
        computed = speaker_time_errors(reference, hypothesis, collar_s=collar_s, skip_overlap=skip_overlap)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            der = DiarizationErrorRate(collar=collar_s, skip_overlap=skip_overlap)(
                annotation(reference), annotation(hypothesis), detailed=True
            )
            jer = JaccardErrorRate(collar=collar_s, skip_overlap=skip_overlap)(
                annotation(reference), annotation(hypothesis), detailed=True
            )
        assert computed.total == pytest.approx(der["total"], abs=1e-5)
        assert computed.missed == pytest.approx(der["missed detection"], abs=1e-5)
        assert computed.false_alarm == pytest.approx(der["false alarm"], abs=1e-5)
        assert computed.confusion == pytest.approx(der["confusion"], abs=1e-5)
        assert computed.reference_speakers == jer["speaker count"]
        equal_jer += computed.jaccard == pytest.approx(jer["speaker error"], abs=1e-4)
    # Where two mappings share the same time to the last bit, rounding decides in pyannote.
    assert equal_jer >= 124


def test_overlapping_turns_of_one_speaker_are_one() -> None:
    merged = speaker_time_errors([("A", 0, 6), ("A", 4, 10)], [("x", 0, 10)])
    assert merged.der == Counts(0, 10)
    assert merged.jer.rate == pytest.approx(0)
    assert merged.mapping == {"x": "A"}


def test_an_empty_side_has_its_errors_counted() -> None:
    assert speaker_time_errors([], []).der == Counts(0, 0)
    assert speaker_time_errors([], [("x", 0, 3)]).der == Counts(3, 0)
    silent = speaker_time_errors([("A", 0, 3), ("B", 1, 1)], [])
    assert (silent.der, silent.jer) == (Counts(3, 3), Counts(1, 1))


def test_counts_of_recordings_pool_as_time_over_time() -> None:
    first = speaker_time_errors([("A", 0, 10)], [("x", 0, 9)])
    second = speaker_time_errors([("A", 0, 30)], [("x", 0, 30)])
    assert (first.der + second.der).rate == pytest.approx(1 / 40)
