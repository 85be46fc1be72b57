"""`tlive bench cache`: a server that keeps media by UUID must notice a miss, and never answer from stale media.

vLLM takes a `uuid` beside each medium, and a request that names only the UUID is answered from its processor cache. A
client may use that to send a picture once, as long as a miss is an error it can mend by sending again, and the UUID is
made of the content. This check does what such a client does, and what a careless one does.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Literal

from PIL import Image
from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table
from tliveomni_eval.model_adapters.server_backend.chat_request import image_address
from tliveomni_eval.model_adapters.server_backend.server_arguments import ServerArguments
from tliveomni_eval.model_adapters.server_backend.server_client import ServerClient, ServerFailure, ServerRefusal

Result = Literal["fresh", "refused", "stale", "failed"]
"""`fresh`: the answer is that of the media that were meant. `refused`: the server said that it lacks the medium; sent
again, the answer is fresh. `stale`: the answer is that of other media. `failed`: something else went wrong."""

PROMPT = "Read the current price (not the crossed-out one). Answer only with the price starting with ¥."
_SIZE = (320, 240)
"""Of all pictures: embeddings of another picture fit in the place of one only where both have as many."""


class CacheCase(BaseModel):
    """One thing that can happen.

    Attributes:
        case: What was done.
        result: What came of it.
        detail: What the server said or answered.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    case: str
    result: Result
    detail: str


class CacheReport(BaseModel):
    """All cases.

    Attributes:
        servers: Which servers.
        hit: Whether a UUID alone was ever answered: whether the server keeps media by UUID at all.
        cases: In the order done.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    servers: list[str]
    hit: bool
    cases: list[CacheCase]

    @property
    def safe(self) -> bool:
        """Whether nothing was stale and nothing failed, beside the careless client, whom no server can save."""
        return all(case.result in ("fresh", "refused") for case in self.cases if not case.case.startswith("careless"))


class _Asking:
    """A client that sends a picture under the UUID of its content, alone where it may be known, and mends a miss."""

    def __init__(self, client: ServerClient, model: str) -> None:
        self.client = client
        self.model = model

    async def answer(self, image: Image.Image | None, name: str | None) -> str:
        part: dict[str, Any] = {"type": "image_url", "image_url": None}
        if image is not None:
            part["image_url"] = {"url": image_address(image)}
        if name is not None:
            part["uuid"] = name
        content = [part, {"type": "text", "text": PROMPT}]
        body = {"model": self.model, "messages": [{"role": "user", "content": content}], "temperature": 0.0,
                "max_tokens": 16}  # fmt: skip
        return (await self.client.complete_once(body)).text

    async def by_name(self, image: Image.Image, name: str, expected: str) -> tuple[Result, str]:
        """Ask by the UUID alone; on a miss send the picture again, and compare with what it must say."""
        try:
            text = await self.answer(None, name)
            return ("fresh" if text == expected else "stale"), text
        except (ServerRefusal, ServerFailure) as miss:
            try:
                again = await self.answer(image, name)
            except (ServerRefusal, ServerFailure) as error:
                return "failed", f"{str(miss)[:160]}; sent again: {str(error)[:160]}"
            return ("refused" if again == expected else "stale"), f"{str(miss)[:160]}; sent again: {again!r}"


async def check_media_cache(servers: Sequence[str], model: str, fill: int) -> CacheReport:
    """Do all cases on the first server, and the replica's on the others.

    Args:
        servers: Addresses up to `/v1`, at least one.
        model: Name of the model; empty for the only one.
        fill: Other pictures that are sent to drive one out of the cache.

    Raises:
        UserError: No such server answers.
    """
    clients = [ServerClient(ServerArguments(base_url=address, model=model, retries=0)) for address in servers]
    try:
        asking = [_Asking(client, str((await client.served_model())["id"])) for client in clients]
        return await _cases(list(servers), asking, fill)
    finally:
        for client in clients:
            await client.close()


async def _cases(servers: list[str], asking: Sequence[_Asking], fill: int) -> CacheReport:
    first, others = asking[0], asking[1:]
    cases: list[CacheCase] = []
    red, blue = await _telling_pictures(first)
    said_red, said_blue = await first.answer(red, None), await first.answer(blue, None)

    never = str(uuid.uuid4())
    result, detail = await first.by_name(red, never, said_red)
    cases.append(CacheCase(case="a UUID that was never sent (as after a restart)", result=result, detail=detail))
    result, detail = await first.by_name(red, never, said_red)
    cases.append(CacheCase(case="a UUID that was sent before", result=result, detail=detail))
    hit = result == "fresh"

    changed = str(uuid.uuid4())
    await first.answer(blue, changed)
    result, detail = await first.by_name(blue, changed, said_blue)
    cases.append(CacheCase(case="changed content under the UUID of its content", result=result, detail=detail))

    for number in range(fill):
        await first.answer(_picture(1_000 + number), str(uuid.uuid4()))
    result, detail = await first.by_name(red, never, said_red)
    cases.append(CacheCase(case=f"after {fill} other pictures (eviction)", result=result, detail=detail))

    for place, other in enumerate(others, 2):
        result, detail = await other.by_name(red, never, said_red)
        cases.append(CacheCase(case=f"replica {place}, which was never sent it", result=result, detail=detail))

    try:
        text = await first.answer(blue, never)
        careless: Result = "fresh" if text == said_blue else "stale"
    except (ServerRefusal, ServerFailure) as error:
        text, careless = str(error)[:200], "failed"
    cases.append(CacheCase(case="careless: other content under a UUID in use", result=careless, detail=text))
    return CacheReport(servers=servers, hit=hit, cases=cases)


async def _telling_pictures(asking: _Asking) -> tuple[Image.Image, Image.Image]:
    """Two pictures that the model answers differently, else a stale answer could not be told."""
    from tliveomni_eval.evals.errors import UserError

    first = _picture(0)
    said = await asking.answer(first, None)
    for seed in range(1, 12):
        other = _picture(seed)
        if await asking.answer(other, None) != said:
            return first, other
    raise UserError("the model answers twelve different pictures alike: a stale answer could not be told")


def _picture(seed: int) -> Image.Image:
    """A composed frame of a live stream; a model that reads answers frames with different texts differently."""
    from tliveomni_eval.tasks.composer.ocr_sample import compose_ocr_sample

    image: Image.Image = compose_ocr_sample(seed, side="train").image
    return image.resize(_SIZE)


def print_cache_report(report: CacheReport, console: Console) -> None:
    """The cases for people, and the verdict."""
    table = Table("case", "result", "detail")
    for case in report.cases:
        table.add_row(case.case, case.result, case.detail)
    console.print(table)
    keeps = "keeps media by UUID" if report.hit else "keeps no media by UUID: every picture must be sent"
    verdict = "no answer came from stale media" if report.safe else "ANSWERS CAME FROM STALE MEDIA, or the check failed"
    console.print(f"{report.servers[0]} {keeps}; {verdict}", highlight=False)
