"""vLLM's own log: which linear kernels it chose, and no line a thousand times.

The kernels are read off the log because that is where vLLM says them, so a quantized variant is known to run quantized.
"""

from __future__ import annotations

import logging
import re
from types import TracebackType
from typing import Self

_KERNEL = re.compile(r"\b(\w+Kernel)\b(?: for (\w+))?")
CHOOSING_LOGGER = "vllm.model_executor.kernels.linear"
"""The logger that names the kernel of each quantization scheme."""

_REPEATING_LOGGERS = ("vllm.v1.worker.cpu_worker",)


class KernelLog(logging.Filter):
    """Collects kernel names from what vLLM logs while it loads a model.

    It is a filter that lets everything through, not a handler: vLLM sets its logging up anew when an engine starts,
    which takes the handlers off its loggers and leaves the filters.

    Attributes:
        kernels: Kernel names in the order they were chosen, without repetition, with the scheme they serve where
            vLLM says so, e.g. `CPUInt8ScaledMMLinearKernel (CompressedTensorsW8A8Int8)`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[str] = []

    def __enter__(self) -> Self:
        logging.getLogger(CHOOSING_LOGGER).addFilter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        logging.getLogger(CHOOSING_LOGGER).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Note the kernel a log line names; the line goes on."""
        for name, scheme in _KERNEL.findall(record.getMessage()):
            kernel = f"{name} ({scheme})" if scheme and scheme[0].isupper() else name
            if kernel not in self.kernels:
                self.kernels.append(kernel)
        return True


class _OncePerMessage(logging.Filter):
    """Lets each message through once."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if message in self._seen:
            return False
        self._seen.add(message)
        return True


def say_repeated_warnings_once() -> None:
    """Make vLLM's loggers that warn at every request (on the CPU: about thread counts) warn once."""
    for name in _REPEATING_LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(item, _OncePerMessage) for item in logger.filters):
            logger.addFilter(_OncePerMessage())
