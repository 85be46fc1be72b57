"""Energy of the accelerators, where NVML counts it."""

from __future__ import annotations


def energy_joules() -> float | None:
    """Joules that all NVIDIA GPUs of this machine used since the driver was loaded; None where nothing counts them."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:
        return None
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        millijoules = [pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) for handle in handles]
        return sum(millijoules) / 1000 if millijoules else None
    except pynvml.NVMLError:
        return None
    finally:
        pynvml.nvmlShutdown()
