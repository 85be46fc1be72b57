"""Each canary catches the fault that is planted for it, and is silent on a backend that is sound; engines are fakes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from PIL import Image
from tliveomni_eval.evals.canaries.canary_result import CANARY_NAMES, CanaryResult, failures
from tliveomni_eval.model_adapters.canaries.canary_backend import CanaryAnswer
from tliveomni_eval.model_adapters.canaries.canary_file import canary_key, keep_results, known_results
from tliveomni_eval.model_adapters.canaries.canary_run import run_canaries
from tliveomni_eval.model_adapters.canaries.media_exchange import content_digest, find_donor
from tliveomni_eval.model_adapters.canaries.sentinels import (
    AnsweredRequest,
    Sentinel,
    choose_sentinels,
    sentinels_wanted,
)
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt, build_chat_prompt
from tliveomni_eval.model_adapters.vllm_backend.media_settings import MediaSettings

KINDS = frozenset({"image", "audio"})
SENTINELS = 4
LARGEST_MEDIA = 20_000
GREEDY = {"temperature": 0.0, "max_tokens": 16}


class PlainTemplate:
    """Renders parts as `<kind>` and text."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        return "".join(part.get("text", f"<{part['type']}>") for message in conversation for part in message["content"])


@dataclass
class SoundBackend:
    """A backend without a fault: its answer is a digest of text and media, its tokens are bytes and media."""

    asked: list[tuple[int, int | None]] = field(default_factory=list)
    forgot: int = 0

    @property
    def media_kinds(self) -> frozenset[str]:
        return KINDS

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> ChatPrompt:
        return build_chat_prompt(messages, PlainTemplate(), MediaSettings(KINDS))

    def answer(self, prompt: ChatPrompt) -> str:
        digest = hashlib.sha256(prompt.text.encode())
        for image in prompt.media.get("image", ()):
            digest.update(image.tobytes())
        for samples, _ in prompt.media.get("audio", ()):
            digest.update(samples.tobytes())
        return digest.hexdigest()

    def engine_tokens(self, prompt: ChatPrompt) -> dict[str, int]:
        counts = {kind: 10 * len(prompt.media.get(kind, ())) for kind in sorted(KINDS)}
        return {"all": len(prompt.text) + sum(counts.values()), **counts}

    def processor_tokens(self, prompt: ChatPrompt) -> Mapping[str, int] | None:
        return SoundBackend.engine_tokens(self, prompt)

    def ask(self, prompts: Sequence[tuple[ChatPrompt, Mapping[str, Any]]], at_a_time: int | None) -> list[CanaryAnswer]:
        self.asked.append((len(prompts), at_a_time))
        return [CanaryAnswer(self.answer(prompt), self.engine_tokens(prompt)) for prompt, _ in prompts]

    def fits(self, prompt: ChatPrompt) -> bool:
        return prompt.media_bytes < LARGEST_MEDIA

    def forget_prefixes(self) -> None:
        self.forgot += 1

    def decoding_taken_over(self) -> Mapping[str, Any]:
        return {}


class DropsAudio(SoundBackend):
    """Its prompts lack every audio."""

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> ChatPrompt:
        silent = [
            {**message, "content": [part for part in message["content"] if part["type"] != "audio"]}
            for message in messages
        ]
        return super().prompt(silent)


class HearsNothing(SoundBackend):
    """Its prompts are whole, and its weights make nothing of audio."""

    def answer(self, prompt: ChatPrompt) -> str:
        return super().answer(replace(prompt, media={**prompt.media, "audio": ()}))


class KeepsTheFirstImage(SoundBackend):
    """Every prompt gets the image that came first."""

    first: Any = None

    def answer(self, prompt: ChatPrompt) -> str:
        if images := prompt.media.get("image"):
            self.first = self.first or images[0]
            prompt = replace(prompt, media={**prompt.media, "image": [self.first]})
        return super().answer(prompt)


class CacheByPath(SoundBackend):
    """Media are remembered by their path, whatever lies there by now."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[str, Any] = {}

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> ChatPrompt:
        cached = [{**message, "content": [self._cached(part) for part in message["content"]]} for message in messages]
        return super().prompt(cached)

    def _cached(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        if part["type"] == "text" or not isinstance(part["url"], str):
            return part
        if part["url"] not in self.cache:
            if part["type"] == "audio":
                samples, rate = soundfile.read(part["url"], dtype="float32")
                self.cache[part["url"]] = {"array": samples, "sampling_rate": rate}
            else:
                self.cache[part["url"]] = Image.open(part["url"]).convert("RGB")
        return {**part, "url": self.cache[part["url"]]}


class Truncates(SoundBackend):
    """Its engine keeps so many tokens of a prompt and says nothing."""

    def engine_tokens(self, prompt: ChatPrompt) -> dict[str, int]:
        counts = super().engine_tokens(prompt)
        return {**counts, "all": min(counts["all"], 12)}


class LosesImageTokens(SoundBackend):
    """Its engine scales images down: the prompt is as the processor's but for their tokens."""

    def engine_tokens(self, prompt: ChatPrompt) -> dict[str, int]:
        counts = super().engine_tokens(prompt)
        return {**counts, "image": counts["image"] // 2, "all": counts["all"]}


class MixesUpTheBatch(SoundBackend):
    """In a batch, each request gets the answer of the one before."""

    def ask(self, prompts: Sequence[tuple[ChatPrompt, Mapping[str, Any]]], at_a_time: int | None) -> list[CanaryAnswer]:
        answers = super().ask(prompts, at_a_time)
        if at_a_time is not None:
            return answers
        return [CanaryAnswer(answers[place - 1].text, answer.prompt_tokens) for place, answer in enumerate(answers)]


class WrongWhenCold(SoundBackend):
    """Right only while the prefix cache is warm."""

    def answer(self, prompt: ChatPrompt) -> str:
        answer = super().answer(prompt)
        return answer[::-1] + answer if self.forgot else answer


class RendersTheTime(SoundBackend):
    """Its chat template holds something that changes."""

    count = 0

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> ChatPrompt:
        prompt = super().prompt(messages)
        self.count += 1
        return replace(prompt, text=f"{prompt.text} {self.count}")


class DecodesAsTheCheckpointSays(SoundBackend):
    """The engine took a default of the checkpoint."""

    def decoding_taken_over(self) -> Mapping[str, Any]:
        return {"temperature": 0.7}


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> list[list[Mapping[str, Any]]]:
    """Chat messages of a few samples with an image and an audio each."""
    folder = tmp_path_factory.mktemp("media")
    chance = np.random.default_rng(9)
    samples = []
    for number in range(SENTINELS):
        path = folder / f"{number}.wav"
        soundfile.write(path, chance.uniform(-0.5, 0.5, 1600).astype(np.float32), 16_000)
        image = Image.fromarray(chance.integers(0, 255, (8, 8, 3), dtype=np.uint8))
        content = [
            {"type": "image", "url": image},
            {"type": "audio", "url": str(path)},
            {"type": "text", "text": f"question {number}"},
        ]
        samples.append([{"role": "user", "content": content}])
    return samples


def canaries(backend: SoundBackend, samples: Sequence[Any], tells: bool = True, **decoding: Any) -> list[CanaryResult]:
    """A run of the samples by the backend, then its canaries."""
    sentinels = []
    for number, messages in enumerate(samples):
        prompt = backend.prompt(messages)
        sentinels.append(
            Sentinel(
                task="t",
                document=number,
                messages=messages,
                decoding=GREEDY | decoding,
                answer=backend.answer(prompt),
                input_tokens=backend.engine_tokens(prompt)["all"],
                output_tokens=16,
                tells=tells,
                prompt_hash=hashlib.sha256(prompt.text.encode()).hexdigest(),
            )
        )
    everything = list(range(len(sentinels)))
    return run_canaries(backend, sentinels, {"image": everything, "audio": everything}, {"video": "none here"})


def test_a_sound_backend_passes_every_canary(media: list[Any]) -> None:
    backend = SoundBackend()
    results = canaries(backend, media)
    assert [result.name for result in results] == list(CANARY_NAMES)
    statuses = {result.name: result.status for result in results}
    assert statuses == dict.fromkeys(CANARY_NAMES, "pass") | {"modality-video": "not_applicable"}
    # One batch: each sentinel again, and with another image and another audio; then half of them alone.
    assert backend.asked == [(3 * SENTINELS, None), (SENTINELS // 2, 1)]
    assert backend.forgot == 1


@pytest.mark.parametrize(
    ("faulty", "canary", "says"),
    [
        (DropsAudio, "modality-audio", "4 of 4 prompts stayed the same when their audio was exchanged"),
        (HearsNothing, "modality-audio", "4 of 4 answers stayed the same with another audio"),
        (KeepsTheFirstImage, "modality-image", "4 of 4 answers stayed the same with another image"),
        (CacheByPath, "modality-audio", "a cache does not look at its content"),
        (Truncates, "prompt-fidelity", "was truncated to 12 tokens"),
        (LosesImageTokens, "prompt-fidelity", "was truncated to 5 tokens of image"),
        (RendersTheTime, "prompt-fidelity", "rendered differently the second time"),
        (MixesUpTheBatch, "batch-invariance", "shuffled among others, prefix cache warm: 4 of 4 answers differ"),
        (WrongWhenCold, "batch-invariance", "alone, prefix cache cold: 2 of 2 answers differ"),
        (DecodesAsTheCheckpointSays, "generation-config", "temperature=0.7"),
    ],
)
def test_a_planted_fault_is_caught(faulty: type[SoundBackend], canary: str, says: str, media: list[Any]) -> None:
    failed = {result.name: result.summary for result in failures(canaries(faulty(), media))}
    assert says in failed[canary]
    # A canary that cries at everything is of no use: what has nothing to do with the fault stays silent.
    related = {
        DropsAudio: {"prompt-fidelity"},
        CacheByPath: {"modality-image"},
        RendersTheTime: {"batch-invariance"},
    }
    assert set(failed) <= {canary} | related.get(faulty, set())


def test_dropped_audio_is_missing_from_the_prompt_too(media: list[Any]) -> None:
    failed = {result.name: result.summary for result in failures(canaries(DropsAudio(), media))}
    assert "the sample has 1 audio and the engine got 0" in failed["prompt-fidelity"]


def test_one_sample_is_asked_with_its_medium_blank(media: list[Any]) -> None:
    statuses = {result.name: result for result in canaries(SoundBackend(), media[:1])}
    assert statuses["modality-image"].status == "not_applicable"
    assert statuses["modality-image"].figures["unchanged_answers"] == 0
    assert "fewer than 3" in statuses["modality-image"].summary
    assert not failures(statuses.values())


def test_short_answers_that_agree_by_chance_are_no_failure(media: list[Any]) -> None:
    """A letter may stay the same with another image; with as few as these nothing is said."""
    results = {result.name: result for result in canaries(KeepsTheFirstImage(), media, tells=False)}
    assert results["modality-image"].status == "not_applicable"
    assert "4 of 4 answers stayed the same with another image; fewer than 8" in results["modality-image"].summary
    results = {result.name: result for result in canaries(KeepsTheFirstImage(), media * 2, tells=False)}
    assert results["modality-image"].status == "fail"
    results = {result.name: result for result in canaries(SoundBackend(), media * 2, tells=False)}
    assert results["modality-image"].status == "pass"


class Notes(SoundBackend):
    """Notes the size of the media it is asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def ask(self, prompts: Sequence[tuple[ChatPrompt, Mapping[str, Any]]], at_a_time: int | None) -> list[CanaryAnswer]:
        self.sizes += [prompt.media_bytes for prompt, _ in prompts]
        return super().ask(prompts, at_a_time)


def test_a_medium_that_the_context_has_no_room_for_is_not_put_in_place_of_another(media: list[Any]) -> None:
    large = {"type": "image", "url": Image.effect_noise((100, 100), 90).convert("RGB")}
    backend = Notes()
    assert not failures(
        canaries(backend, [*media, [{"role": "user", "content": [large, *media[0][0]["content"][1:]]}]])
    )
    # Asked about with its own sample only: again, with another audio, and alone perhaps.
    assert 2 <= sum(size > LARGEST_MEDIA for size in backend.sizes) <= 3


class AnswersAtLength(SoundBackend):
    """Its answers have a token a character and more of them than a canary waits for."""

    def answer(self, prompt: ChatPrompt) -> str:
        return 3 * super().answer(prompt)

    def ask(self, prompts: Sequence[tuple[ChatPrompt, Mapping[str, Any]]], at_a_time: int | None) -> list[CanaryAnswer]:
        assert {decoding["max_tokens"] for _, decoding in prompts} == {64}
        return [replace(one, text=one.text[:64], was_cut=True) for one in super().ask(prompts, at_a_time)]


def test_long_answers_are_compared_as_far_as_a_canary_waits(media: list[Any]) -> None:
    results = {result.name: result for result in canaries(AnswersAtLength(), media, max_tokens=512)}
    assert results["batch-invariance"].status == results["modality-image"].status == "pass"
    assert results["batch-invariance"].figures["alone, prefix cache cold: differing"] == 0
    assert CanaryAnswer("元\ufffd", {}, True).beside("元价") == ("元", "元")
    assert CanaryAnswer("ab", {}).beside("abc") == ("abc", "ab")


def test_sampled_answers_are_not_compared(media: list[Any]) -> None:
    results = {result.name: result for result in canaries(MixesUpTheBatch(), media, temperature=0.7)}
    assert results["batch-invariance"].status == "not_applicable"


def test_a_donor_holds_something_else_whatever_its_path(tmp_path: Path) -> None:
    for name, content in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).write_bytes(content)
    sources = [[str(tmp_path / name)] for name in "abc"]
    assert [find_donor(sources, place) for place in range(3)] == [2, 2, 0]
    assert find_donor(sources[:2], 0) is None
    assert content_digest([Image.new("RGB", (2, 2))]) != content_digest([Image.new("RGB", (2, 3))])


@pytest.mark.parametrize(("samples", "wanted"), [(0, 0), (1, 1), (3, 3), (12, 4), (500, 4), (1000, 5), (10**6, 8)])
def test_few_sentinels_for_a_small_run(samples: int, wanted: int) -> None:
    assert sentinels_wanted(samples) == wanted


def test_sentinels_are_spread_and_have_answers_that_can_change() -> None:
    image = frozenset({"image"})
    requests = [AnsweredRequest(place, image, 1 if place % 2 else 20, place != 0) for place in range(1000)]
    chosen = choose_sentinels(requests)
    assert list(chosen) == ["image"]
    assert len(chosen["image"]) == 5
    assert all(place % 2 == 0 and place for place in chosen["image"])
    assert max(chosen["image"]) - min(chosen["image"]) > 700
    assert choose_sentinels(requests) == chosen
    closed = choose_sentinels([AnsweredRequest(place, frozenset(), 1, True) for place in range(3)])
    assert closed == {"text": [0, 1, 2]}
    assert choose_sentinels([]) == {}


def test_answers_that_many_samples_have_tell_nothing() -> None:
    """A model that says `not in the picture` half of the time may say so of any other picture."""
    image = frozenset({"image"})
    requests = [AnsweredRequest(place, image, 9, True, 500 if place % 2 else 1) for place in range(1000)]
    assert all(place % 2 == 0 for place in choose_sentinels(requests)["image"])
    constant = [AnsweredRequest(place, image, 9, True, 1000) for place in range(1000)]
    assert len(choose_sentinels(constant)["image"]) == 8
    assert not constant[0].tells(1000)
    captions = [AnsweredRequest(place, image, 90 + place, True) for place in range(100)]
    assert choose_sentinels(captions)["image"] == [0, 1, 2, 3]


def test_results_are_found_again_only_for_the_same_engine_and_answers(tmp_path: Path, media: list[Any]) -> None:
    sentinel = Sentinel("t", 0, media[0], GREEDY, "answer", 9, 3, "hash")
    key = canary_key(["weights", {"dtype": "float32"}], [sentinel])
    others = {
        canary_key(["other weights", {"dtype": "float32"}], [sentinel]),
        canary_key(["weights", {"dtype": "bfloat16"}], [sentinel]),
        canary_key(["weights", {"dtype": "float32"}], [replace(sentinel, answer="another")]),
    }
    assert len(others | {key}) == 4
    results = [CanaryResult(name="modality-image", status="pass", summary="fine")]
    assert known_results(tmp_path, key) is None
    keep_results(tmp_path, key, results)
    assert known_results(tmp_path, key) == results
    assert known_results(tmp_path, others.pop()) is None
    (tmp_path / "canaries.json").write_text("{}")
    assert known_results(tmp_path, key) is None
