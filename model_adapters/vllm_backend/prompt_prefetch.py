"""Prompts built ahead of the engine in threads, in order, under a bound on the memory their media take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from tliveomni_eval.model_adapters.vllm_backend.chat_prompt import ChatPrompt

Item = TypeVar("Item")

MAX_MEDIA_BYTES = 512 * 2**20
THREADS = 4


def prefetch_prompts(
    items: list[Item],
    build: Callable[[Item], ChatPrompt],
    threads: int = THREADS,
    max_media_bytes: int = MAX_MEDIA_BYTES,
) -> Iterator[tuple[Item, ChatPrompt]]:
    """Yield each item with its prompt, in order, while the next ones are being built.

    Args:
        items: What prompts are built from.
        build: Builds one; called in threads.
        threads: Prompts under construction at a time.
        max_media_bytes: While finished prompts that wait hold more, no further one is started; one larger than the
            bound passes alone.

    Raises:
        Exception: Whatever `build` raises, when its item's turn comes.
    """
    waiting: deque[tuple[Item, Future[ChatPrompt]]] = deque()
    remaining = iter(items)
    with ThreadPoolExecutor(threads, thread_name_prefix="prompt") as pool:
        try:
            while True:
                while len(waiting) < 2 * threads and _held_bytes(waiting) < max_media_bytes:
                    item = next(remaining, None)
                    if item is None:
                        break
                    waiting.append((item, pool.submit(build, item)))
                if not waiting:
                    return
                item, future = waiting.popleft()
                yield item, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def _held_bytes(waiting: deque[tuple[Item, Future[ChatPrompt]]]) -> int:
    done = (future for _, future in waiting if future.done() and not future.cancelled() and future.exception() is None)
    return sum(future.result().media_bytes for future in done)
