"""`tliveomni_server` against a server that misbehaves on purpose."""

from __future__ import annotations

import base64
import io
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from fake_server import answer, running
from PIL import Image
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.server_backend.adapter import TLiveOmniServer
from tliveomni_eval.model_adapters.server_backend.chat_request import chat_request
from tliveomni_eval.model_adapters.server_backend.event_loop import run_to_end
from tliveomni_eval.model_adapters.server_backend.server_arguments import ServerArguments
from tliveomni_eval.model_adapters.server_backend.server_client import ServerClient, ServerFailure
from tliveomni_eval.model_adapters.vllm_backend.decoding import Decoding

GREEDY = Decoding(max_tokens=16, temperature=0.0, stop=("\n\n",), other={})


def requests(count):
    def messages(doc):
        return [{"role": "user", "content": [{"type": "text", "text": f"question {doc}"}]}]

    settings = {"max_new_tokens": 8, "temperature": 0, "until": []}
    return [SimpleNamespace(args=("", messages, settings, n, "task", "test"), task_name="task") for n in range(count)]


def model_on(address, **arguments):
    model = TLiveOmniServer(base_url=address, **arguments)
    model.task_dict = {"task": {"test": list(range(100))}}
    return model


def asked_of(body):
    return int(body["messages"][0]["content"][0]["text"].split()[1])


def test_answers_in_order_within_the_limit_of_concurrency():
    with running(lambda number, body: (200, answer(f"to {asked_of(body)}", 5, 2))) as (address, fake):
        results = model_on(address, concurrency=3).generate_until(requests(20))
    assert [result.text for result in results] == [f"to {number}" for number in range(20)]
    assert results[0].token_counts.input_tokens == 5
    assert fake.most_open <= 3
    assert fake.bodies[0]["temperature"] == 0.0
    assert fake.bodies[0]["max_tokens"] == 8


@pytest.mark.parametrize("fault", [(503, {"error": {"message": "overloaded"}}), (429, {}), None])
def test_what_may_pass_is_tried_again(fault):
    with running(lambda number, _: fault if number < 2 else (200, answer("yes"))) as (address, fake):
        results = model_on(address, concurrency=1, retries=3).generate_until(requests(1))
    assert results[0].text == "yes"
    assert len(fake.bodies) == 3


def test_a_sample_that_always_fails_counts_as_an_error_and_the_others_are_answered():
    with running(lambda _, body: (500, {}) if asked_of(body) == 1 else (200, answer("yes"))) as (address, _):
        model = model_on(address, concurrency=1, retries=1)
        results = model.generate_until(requests(3))
    assert [result.text for result in results] == ["yes", None, "yes"]
    assert "document 1" in model.failed[1]


def test_a_server_that_only_fails_ends_the_run():
    with (
        running(lambda *_: (500, {"error": {"message": "the engine died"}})) as (address, _),
        pytest.raises(UserError, match=r"8 requests in a row failed, each 1 times.*the engine died"),
    ):
        model_on(address, concurrency=1, retries=0).generate_until(requests(30))


def test_a_refusal_names_the_sample_and_is_not_repeated():
    with running(lambda *_: (400, {"error": {"message": "too long: 9000 tokens"}})) as (address, fake):
        with pytest.raises(UserError, match=r"task task, document 0: .*400: too long: 9000 tokens"):
            model_on(address, concurrency=1).generate_until(requests(1))
        assert len(fake.bodies) == 1


def test_time_that_runs_out_is_told_apart():
    async def ask(address):
        client = ServerClient(ServerArguments(base_url=address, timeout_s=0.2, retries=0))
        try:
            await client.complete({"messages": []})
        finally:
            await client.close()

    with (
        running(lambda *_: 1.0) as (address, _),
        pytest.raises(ServerFailure, match=r"no answer within 0\.2 s") as failed,
    ):
        run_to_end(ask(address))
    assert failed.value.timed_out


def test_streams_have_moments_and_a_broken_one_is_a_failure():
    async def ask(address):
        client = ServerClient(ServerArguments(base_url=address, retries=0))
        try:
            return await client.stream_once({"messages": []})
        finally:
            await client.close()

    with running(lambda *_: (200, answer("abc", 5, 3))) as (address, _):
        streamed = run_to_end(ask(address))
    assert (streamed.text, streamed.prompt_tokens, streamed.output_tokens) == ("abc", 5, 3)
    assert streamed.sent <= streamed.first <= streamed.last
    with (
        running(lambda *_: (200, answer("abc") | {"breaks": True})) as (address, _),
        pytest.raises(ServerFailure, match="broke off"),
    ):
        run_to_end(ask(address))


def test_no_server_and_no_such_model_are_said():
    with pytest.raises(UserError, match=r"no server answers.*vllm serve"):
        TLiveOmniServer(base_url="http://127.0.0.1:9/v1")
    with running(lambda *_: None) as (address, _), pytest.raises(UserError, match=r"does not serve 'x'.*nano"):
        TLiveOmniServer(base_url=address, model="x")
    with pytest.raises(UserError, match="concurrency"):
        TLiveOmniServer(base_url="http://127.0.0.1:9/v1", concurency=3)
    with pytest.raises(UserError, match="is no address"):
        TLiveOmniServer(base_url="localhost:8000")


def test_media_travel_without_loss(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    (tmp_path / "v.mp4").write_bytes(b"not looked into here")
    samples = np.linspace(-0.5, 0.5, 1600, dtype=np.float32)
    content = [
        {"type": "image", "url": Image.fromarray(pixels)},
        {"type": "audio", "url": {"array": samples, "sampling_rate": 16000}},
        {"type": "video", "url": str(tmp_path / "v.mp4")},
        {"type": "text", "text": "what?"},
    ]
    body = chat_request("nano", [{"role": "user", "content": content}], GREEDY)
    image, audio, video, text = body["messages"][0]["content"]
    sent = Image.open(io.BytesIO(base64.b64decode(image["image_url"]["url"].split(",")[1])))
    assert (np.asarray(sent) == pixels).all()
    heard, rate = soundfile.read(io.BytesIO(base64.b64decode(audio["input_audio"]["data"])), dtype="float32")
    assert rate == 16000
    assert (heard == samples).all()
    assert video["video_url"]["url"].startswith("data:video/mp4;base64,")
    assert text == {"type": "text", "text": "what?"}
    assert body["stop"] == ["\n\n"]


def test_a_program_with_a_running_loop_may_evaluate():
    """As a notebook, or a program that drives a browser."""

    async def evaluated(address):
        return model_on(address).generate_until(requests(3))

    with running(lambda number, _: (200, answer("yes"))) as (address, _):
        assert [result.text for result in run_to_end(evaluated(address))] == ["yes"] * 3
