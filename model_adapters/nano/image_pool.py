"""Pools of training samples on the training device, refreshed all the time by renderer processes.

Renderers write chunks of samples into shared memory; the training loop copies ready chunks into ring buffers on the
device, in the order of its own stream, so a batch never sees a half-written sample. A renderer that fails ends the run
with its traceback.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import queue
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

Sample = Mapping[str, NDArray[Any]]
_ALIGNMENT = 64
_CHUNKS_A_RENDERER = 3


@dataclass(frozen=True)
class PoolLayout:
    """Arrays of one pool.

    Attributes:
        arrays: Name to (shape, dtype) of one sample's array.
        capacity: Samples held on the device.
    """

    arrays: Mapping[str, tuple[tuple[int, ...], str]]
    capacity: int

    def spans(self, count: int) -> Iterator[tuple[str, int, tuple[int, ...], np.dtype[Any]]]:
        """Name, byte offset, shape and dtype of each array in a chunk of `count` samples."""
        offset = 0
        for name, (shape, kind) in self.arrays.items():
            dtype = np.dtype(kind)
            yield name, offset, (count, *shape), dtype
            size = int(count * np.prod(shape, dtype=np.int64)) * dtype.itemsize
            offset += -(-size // _ALIGNMENT) * _ALIGNMENT

    def chunk_bytes(self, count: int) -> int:
        """Bytes of a chunk of `count` samples."""
        *_, (_, offset, shape, dtype) = self.spans(count)
        return offset + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize


class SampleSource(Protocol):
    """Makes samples for any of the pools; called in renderer processes."""

    def __call__(self, seed: int, difficulty: float) -> tuple[str, Sample] | None:
        """The pool and the sample of a seed, or None if the sample does not fit its pool."""


class RendererError(RuntimeError):
    """A renderer process failed; the message holds its traceback."""


@dataclass
class Pool:
    """One ring buffer on the device.

    Attributes:
        layout: Its arrays.
        tensors: (capacity, …) tensor by array name.
        filled: Scalar on the device: rows that hold samples.
        received: Samples ever received.
    """

    layout: PoolLayout
    tensors: dict[str, torch.Tensor]
    filled: torch.Tensor
    received: int = 0

    def draw(self, batch_size: int) -> dict[str, torch.Tensor]:
        """A random batch, with replacement; capturable in a CUDA graph."""
        uniform = torch.rand(batch_size, device=self.filled.device)
        index = torch.minimum((uniform * self.filled).long(), self.filled.long() - 1)
        return {name: tensor[index] for name, tensor in self.tensors.items()}

    def store(self, chunk: Mapping[str, torch.Tensor], count: int) -> None:
        """Copies a chunk into the ring, over the oldest samples."""
        start = self.received % self.layout.capacity
        head = min(count, self.layout.capacity - start)
        for name, values in chunk.items():
            self.tensors[name][start : start + head].copy_(values[:head], non_blocking=True)
            if head < count:
                self.tensors[name][: count - head].copy_(values[head:], non_blocking=True)
        self.received += count
        self.filled.fill_(min(self.received, self.layout.capacity))


def _renderer(
    number: int,
    source: SampleSource,
    layouts: Mapping[str, PoolLayout],
    memory: mmap.mmap,
    chunk_size: int,
    slot_bytes: int,
    free: Any,
    ready: Any,
    difficulty: Any,
    seeds: tuple[int, int],
) -> None:
    """Body of a renderer process: fills free slots with chunks of one pool each."""
    try:
        pending: dict[str, list[Sample]] = {name: [] for name in layouts}
        seed, step = seeds
        while True:
            made = source(seed, difficulty.value)
            seed += step
            if made is None:
                continue
            name, sample = made
            pending[name].append(sample)
            if len(pending[name]) < chunk_size:
                continue
            slot = free.get()
            if slot is None:
                return
            for array, offset, shape, dtype in layouts[name].spans(chunk_size):
                view: NDArray[Any] = np.ndarray(shape, dtype, memory, slot * slot_bytes + offset)
                for row, item in enumerate(pending[name]):
                    view[row] = item[array]
            pending[name] = []
            ready.put((number, slot, name, None))
    except KeyboardInterrupt:
        return
    except BaseException:
        ready.put((number, -1, "", traceback.format_exc()))
        raise


@dataclass
class ImagePools:
    """All pools and the processes that feed them.

    `start` must run before the first use of CUDA in this process, because renderers are forked; `allocate` comes after.
    """

    layouts: Mapping[str, PoolLayout]
    source: SampleSource
    renderers: int
    first_seed: int = 0
    chunk_size: int = 16
    pools: dict[str, Pool] = field(default_factory=dict)

    def start(self, difficulty: float = 0.0) -> None:
        """Forks the renderer processes, which begin at a difficulty."""
        context = multiprocessing.get_context("fork")
        self._ready: Any = context.Queue()
        self._difficulty: Any = context.Value("d", difficulty)
        self._slot_bytes = max(layout.chunk_bytes(self.chunk_size) for layout in self.layouts.values())
        self._slot_bytes = -(-self._slot_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        self._memory: list[mmap.mmap] = []
        self._free: list[Any] = []
        self._processes: list[Any] = []
        self._in_flight: list[tuple[Any, int, int]] = []
        for number in range(self.renderers):
            memory = mmap.mmap(-1, self._slot_bytes * _CHUNKS_A_RENDERER)
            free = context.SimpleQueue()
            for slot in range(_CHUNKS_A_RENDERER):
                free.put(slot)
            process = context.Process(
                target=_renderer,
                args=(number, self.source, self.layouts, memory, self.chunk_size, self._slot_bytes, free, self._ready),
                kwargs={"difficulty": self._difficulty, "seeds": (self.first_seed + number, self.renderers)},
                daemon=True,
            )
            process.start()
            self._memory.append(memory)
            self._free.append(free)
            self._processes.append(process)

    def allocate(self, device: torch.device, report: Callable[[str], None] = print) -> None:
        """Makes the ring buffers; on a GPU also page-locks the shared memory so that copies do not wait."""
        self._device = device
        for name, layout in self.layouts.items():
            tensors = {
                array: torch.zeros((layout.capacity, *shape), dtype=getattr(torch, kind), device=device)
                for array, (shape, kind) in layout.arrays.items()
            }
            self.pools[name] = Pool(layout, tensors, torch.ones((), device=device))
        if device.type == "cuda":
            for memory in self._memory:
                address = np.frombuffer(memory, np.uint8).ctypes.data
                status = int(torch.cuda.cudart().cudaHostRegister(address, len(memory), 0))
                if status:
                    report(f"page-locking shared memory failed with CUDA status {status}; copies will wait")
                    break

    def set_difficulty(self, difficulty: float) -> None:
        """Tells renderers how hard the next samples are, 0..1."""
        self._difficulty.value = difficulty

    def refresh(self, most_chunks: int = 64) -> int:
        """Copies ready chunks to the device and frees slots whose copy is done.

        Returns:
            Samples received.

        Raises:
            RendererError: If a renderer failed.
        """
        samples = 0
        for _ in range(most_chunks):
            try:
                number, slot, name, error = self._ready.get_nowait()
            except queue.Empty:
                break
            if error is not None:
                raise RendererError(f"renderer {number} failed:\n{error}")
            samples += self._receive(number, slot, name)
        self._free_copied_slots()
        for number, process in enumerate(self._processes):
            if process.exitcode not in (None, 0) and self._ready.empty():
                raise RendererError(f"renderer {number} (process {process.pid}) ended with status {process.exitcode}")
        return samples

    def _receive(self, number: int, slot: int, name: str) -> int:
        layout = self.layouts[name]
        chunk = {
            array: torch.from_numpy(np.ndarray(shape, dtype, self._memory[number], slot * self._slot_bytes + offset))
            for array, offset, shape, dtype in layout.spans(self.chunk_size)
        }
        self.pools[name].store(chunk, self.chunk_size)
        if self._device.type == "cuda":
            copied = torch.cuda.Event()
            copied.record()
            self._in_flight.append((copied, number, slot))
        else:
            self._free[number].put(slot)
        return self.chunk_size

    def _free_copied_slots(self) -> None:
        waiting = []
        for copied, number, slot in self._in_flight:
            if copied.query():
                self._free[number].put(slot)
            else:
                waiting.append((copied, number, slot))
        self._in_flight = waiting

    def stop(self) -> None:
        """Ends the renderer processes, which have nothing to save.

        They are killed: a handler of SIGTERM in this process is inherited by the fork and would swallow that signal.
        """
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()


def available_renderers(reserved: int = 2) -> int:
    """Renderer processes that suit this machine: its cores less those that the training loop needs, at least 1."""
    return max(1, len(os.sched_getaffinity(0)) - reserved)
