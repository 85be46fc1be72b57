"""Which linear kernels vLLM chose: read off its own log, so that a quantized variant is known to run quantized."""

from __future__ import annotations

import logging
import re

_KERNEL = re.compile(r"\b(\w+Kernel)\b(?: for (\w+))?")


class KernelLog(logging.Handler):
    """Collects kernel names from what vLLM logs while it loads a model.

    Attributes:
        kernels: Kernel names in the order they were chosen, without repetition, with the scheme they serve where
            vLLM says so, e.g. `CPUInt8ScaledMMLinearKernel (CompressedTensorsW8A8Int8)`.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.kernels: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Note the kernel a log line names."""
        for name, scheme in _KERNEL.findall(record.getMessage()):
            kernel = f"{name} ({scheme})" if scheme else name
            if kernel not in self.kernels:
                self.kernels.append(kernel)
