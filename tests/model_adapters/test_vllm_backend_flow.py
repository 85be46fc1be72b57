"""Requests flow through prefetch, engine and journal without loss, repetition or disorder; the engine is a fake."""

from __future__ import annotations

import logging
import logging.config
import random
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.vllm_backend import ignored_media
from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt, build_chat_prompt
from tliveomni_eval.model_adapters.vllm_backend.engine_log import CHOOSING_LOGGER, KernelLog
from tliveomni_eval.model_adapters.vllm_backend.engine_loop import Request, RequestRefusedError, Response, run_requests
from tliveomni_eval.model_adapters.vllm_backend.media_settings import MediaSettings
from tliveomni_eval.model_adapters.vllm_backend.prompt_prefetch import prefetch_prompts
from tliveomni_eval.model_adapters.vllm_backend.response_journal import ResponseJournal, response_key


@dataclass
class FakeEngine:
    """Finishes a random subset of its requests each step."""

    chance: random.Random
    queued: list[str] = field(default_factory=list)
    most_at_once: int = 0

    def add_request(self, request_id: str, prompt: Any, params: Any) -> None:
        self.queued.append(request_id)
        self.most_at_once = max(self.most_at_once, len(self.queued))

    def has_unfinished_requests(self) -> bool:
        return bool(self.queued)

    def step(self) -> list[Any]:
        finished = [name for name in self.queued if self.chance.random() < 0.5]
        self.queued = [name for name in self.queued if name not in finished]
        unfinished = [SimpleNamespace(finished=False, request_id=name) for name in self.queued]
        return unfinished + [_output(name) for name in finished]


def _output(name: str) -> Any:
    completion = SimpleNamespace(text=f"answer {name}", token_ids=[1, 2], finish_reason="stop")
    return SimpleNamespace(finished=True, request_id=name, outputs=[completion], prompt_token_ids=[1, 2, 3])


@settings(max_examples=60, deadline=None)
@given(count=st.integers(0, 60), room=st.integers(1, 9), seed=st.integers(0, 999))
def test_every_request_is_answered_once_and_the_engine_is_never_overfull(count: int, room: int, seed: int) -> None:
    engine = FakeEngine(random.Random(seed))
    answers: list[tuple[str, Response]] = []
    requests: Iterator[Request] = (Request(str(index), None, None) for index in range(count))
    run_requests(engine, requests, lambda name, response: answers.append((name, response)), room)
    assert sorted(int(name) for name, _ in answers) == list(range(count))
    assert all(response.text == f"answer {name}" for name, response in answers)
    assert engine.most_at_once <= room


def test_the_answers_of_one_step_are_reported_together() -> None:
    engine = FakeEngine(random.Random(3))
    log: list[str] = []

    @contextmanager
    def together() -> Iterator[None]:
        log.append("(")
        yield
        log.append(")")

    requests: Iterator[Request] = (Request(str(index), None, None) for index in range(40))
    run_requests(engine, requests, lambda name, _: log.append(name), 8, together=together)
    text = "".join(item if item in "()" else "x" for item in log)
    assert text.count("x") == 40
    assert re.fullmatch(r"(\(x+\))+", text)
    assert text.count("(") < 40


def test_a_prompt_that_is_too_long_is_an_error_and_not_a_shorter_prompt() -> None:
    class ShortContext(FakeEngine):
        def add_request(self, request_id: str, prompt: Any, params: Any) -> None:
            if len(prompt) > 10:
                raise ValueError(f"The prompt (length {len(prompt)}) is longer than the maximum model length of 10.")
            super().add_request(request_id, prompt, params)

    answers: list[str] = []
    requests = iter([Request("0", "x" * 10, None), Request("1", "x" * 11, None), Request("2", "x", None)])
    with pytest.raises(RequestRefusedError, match=r"request 1: .*length 11.* maximum model length of 10") as caught:
        run_requests(ShortContext(random.Random(0)), requests, lambda name, _: answers.append(name), 1)
    assert (caught.value.request_id, answers) == ("1", ["0"])


def _prompt(size: int = 10) -> ChatPrompt:
    return ChatPrompt("text", {}, size, "key")


@settings(max_examples=40, deadline=None)
@given(count=st.integers(0, 40), threads=st.integers(1, 5), bound=st.integers(1, 50))
def test_prefetch_keeps_order_under_any_bound(count: int, threads: int, bound: int) -> None:
    built = prefetch_prompts(list(range(count)), lambda index: ChatPrompt(str(index), {}, 10, ""), threads, bound)
    assert [(item, prompt.text) for item, prompt in built] == [(index, str(index)) for index in range(count)]


def test_prefetch_stops_while_finished_prompts_hold_too_much() -> None:
    built = []
    gate = threading.Event()

    def build(index: int) -> ChatPrompt:
        built.append(index)
        if index == 0:
            gate.wait(10)
        return _prompt(1000)

    prompts = prefetch_prompts(list(range(100)), build, threads=1, max_media_bytes=1500)
    gate.set()
    next(prompts)
    next(prompts)
    assert len(built) < 10
    prompts.close()


def test_prefetch_raises_in_the_turn_of_the_broken_item() -> None:
    def build(index: int) -> ChatPrompt:
        if index == 3:
            raise UserError("image 3 is broken")
        return _prompt()

    seen = []
    with pytest.raises(UserError, match="image 3"):
        for index, _ in prefetch_prompts(list(range(9)), build):
            seen.append(index)
    assert seen == [0, 1, 2]


class PlainTemplate:
    """Renders parts as `<kind>` and text."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        parts = [part for message in conversation for part in message["content"]]
        return "".join(part.get("text", f"<{part['type']}>") for part in parts)


def _messages(color: str, text: str) -> list[dict[str, Any]]:
    image = Image.new("RGB", (4, 4), color)
    return [{"role": "user", "content": [{"type": "image", "url": image}, {"type": "text", "text": text}]}]


def test_a_prompt_holds_media_in_order_and_its_key_depends_on_pixels_and_text() -> None:
    kinds = MediaSettings(frozenset({"image"}))
    first = build_chat_prompt(_messages("red", "read"), PlainTemplate(), kinds)
    again = build_chat_prompt(_messages("red", "read"), PlainTemplate(), kinds)
    other_pixels = build_chat_prompt(_messages("blue", "read"), PlainTemplate(), kinds)
    other_text = build_chat_prompt(_messages("red", "reed"), PlainTemplate(), kinds)
    assert first.text == "<image>read"
    assert len(first.media["image"]) == 1
    assert first.key == again.key
    assert len({first.key, other_pixels.key, other_text.key}) == 3


def test_media_the_checkpoint_does_not_take_are_left_out_and_named() -> None:
    prompt = build_chat_prompt(_messages("red", "read"), PlainTemplate(), MediaSettings(frozenset({"audio"})))
    assert (prompt.text, prompt.media, prompt.media_bytes) == ("read", {}, 0)
    assert prompt.ignored == {"image"}
    assert (
        build_chat_prompt(_messages("red", "read"), PlainTemplate(), MediaSettings(frozenset({"image"}))).ignored
        == frozenset()
    )


@pytest.mark.parametrize("form", ["path", "array"])
def test_audio_is_decoded_to_mono_samples_and_its_rate(tmp_path: Path, form: str) -> None:
    tone = np.sin(np.arange(1600) / 5).astype(np.float32) / 2
    soundfile.write(tmp_path / "a.wav", np.stack([tone, tone], axis=1), 16_000, subtype="FLOAT")
    url = str(tmp_path / "a.wav") if form == "path" else {"array": tone, "sampling_rate": 16_000}
    messages = [{"role": "user", "content": [{"type": "audio", "url": url}, {"type": "text", "text": "write"}]}]
    prompt = build_chat_prompt(messages, PlainTemplate(), MediaSettings(frozenset({"audio"})))
    samples, rate = prompt.media["audio"][0]
    assert (prompt.text, rate, prompt.media_bytes) == ("<audio>write", 16_000, 4 * 1600)
    assert np.allclose(samples, tone, atol=1e-6)


def test_a_missing_audio_file_is_named() -> None:
    messages = [{"role": "user", "content": [{"type": "audio", "url": "gone.wav"}]}]
    with pytest.raises(UserError, match=r"gone\.wav"):
        build_chat_prompt(messages, PlainTemplate(), MediaSettings(frozenset({"audio"})))


def test_ignored_media_are_said_once_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(ignored_media.logger, "warning", said.append)
    noted = ignored_media.IgnoredMedia("tliveomni-nano", frozenset({"image"}))
    for task in ("live_asr", "live_asr", "live_ocr", "live_diarization"):
        noted.note(task, frozenset() if task == "live_ocr" else frozenset({"audio"}))
    assert [message.split(":")[0] for message in said] == ["live_asr", "live_diarization"]
    assert all("the audio of this task is LEFT OUT" in message for message in said)
    assert noted.by_task == {"live_asr": ["audio"], "live_diarization": ["audio"]}


def test_a_journal_gives_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    response = Response("¥19.9\x00'\"", 10, 3, "length")
    with ResponseJournal(path) as journal:
        journal.write("k", "live_ocr", 7, response)
    with ResponseJournal(path) as journal:
        assert journal.find("k") == response
        assert journal.find("other") is None
        assert len(journal) == 1


def test_a_journal_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(UserError, match=r"journal\.sqlite"):
        ResponseJournal(tmp_path / "journal.sqlite")
    journal = ResponseJournal(tmp_path / "full.sqlite")
    journal._database.execute("PRAGMA max_page_count=3")
    with pytest.raises(UserError, match="full"):
        for number in range(10_000):
            journal.write(str(number), "t", number, Response("x" * 100, 1, 1, "stop"))
    assert len(journal) > 0
    assert journal._database.execute("PRAGMA synchronous").fetchone() == (2,)
    assert isinstance(journal._database, sqlite3.Connection)


def test_a_response_is_found_only_under_everything_that_determined_it() -> None:
    base = response_key("weights", {"dtype": "bfloat16"}, "prompt", {"temperature": 0})
    others = {
        response_key("other weights", {"dtype": "bfloat16"}, "prompt", {"temperature": 0}),
        response_key("weights", {"dtype": "float16"}, "prompt", {"temperature": 0}),
        response_key("weights", {"dtype": "bfloat16"}, "other prompt", {"temperature": 0}),
        response_key("weights", {"dtype": "bfloat16"}, "prompt", {"temperature": 1}),
    }
    assert len(others | {base}) == 5


def test_kernels_are_read_off_the_log_even_where_logging_is_set_up_anew() -> None:
    logger = logging.getLogger(CHOOSING_LOGGER)
    logger.setLevel(logging.INFO)
    with KernelLog() as log:
        logging.config.dictConfig(
            {"version": 1, "disable_existing_loggers": False, "loggers": {"vllm": {"level": "INFO"}}}
        )
        logger.setLevel(logging.INFO)
        logger.info("Selected %s for %s", "CPUInt8ScaledMMLinearKernel", "CompressedTensorsW8A8Int8")
        logger.info("Selected %s for %s", "CPUInt8ScaledMMLinearKernel", "CompressedTensorsW8A8Int8")
        logger.info("Using %s for mixed-precision linear", "CPUWNA16LinearKernel")
        logger.info("Loading weights took 1 s")
    logger.info("Selected %s for %s", "OtherKernel", "Later")
    assert log.kernels == ["CPUInt8ScaledMMLinearKernel (CompressedTensorsW8A8Int8)", "CPUWNA16LinearKernel"]
