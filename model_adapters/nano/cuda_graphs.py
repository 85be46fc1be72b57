"""Capturing a function of static tensors in a CUDA graph: one launch instead of hundreds.

A model this small is bound by kernel launches. Where a capture fails, or there is no GPU, the function runs eagerly and
the reason is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass
class CapturedCall:
    """A call that replays.

    Attributes:
        name: For reports.
        function: What was captured; runs as it is where there is no graph.
        graph: The CUDA graph, or None.
        reason: Why there is no graph; empty if there is one.
    """

    name: str
    function: Callable[[], None]
    graph: Any = None
    reason: str = ""

    def __call__(self) -> None:
        """Runs the function once."""
        if self.graph is not None:
            self.graph.replay()
        else:
            self.function()


def capture(
    name: str, function: Callable[[], None], device: torch.device, memory_pool: Any = None, warmups: int = 2
) -> CapturedCall:
    """Captures a function.

    Args:
        name: For reports.
        function: Reads and writes static tensors only, and never waits for the device. It also runs `warmups` times.
        device: Where it runs; captured only on a GPU.
        memory_pool: From `torch.cuda.graph_pool_handle()`; graphs that never run at the same time may share one.
        warmups: Eager runs before the capture, in which libraries allocate their workspaces.
    """
    if device.type != "cuda":
        return CapturedCall(name, function, reason="no GPU")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warmups):
            function()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, pool=memory_pool):
            function()
    except RuntimeError as error:
        torch.cuda.synchronize()
        return CapturedCall(name, function, reason=f"capture failed: {error}")
    return CapturedCall(name, function, graph)
