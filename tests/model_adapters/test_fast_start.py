"""What speeds a process up must change nothing else."""

from __future__ import annotations

import subprocess
import sys

from tliveomni_eval.model_adapters.run.fast_start import KEEP_FREED_MEMORY, evaluation_environment, import_lazily


def test_the_users_environment_wins() -> None:
    environment = evaluation_environment({"MALLOC_TOP_PAD_": "1", "HOME": "/home/x"})
    assert environment["MALLOC_TOP_PAD_"] == "1"
    assert environment["HOME"] == "/home/x"
    assert set(KEEP_FREED_MEMORY) <= set(environment)


def test_a_lazy_module_loads_when_it_is_used() -> None:
    code = (
        "import sys\n"
        "from tliveomni_eval.model_adapters.run.fast_start import import_lazily\n"
        "import_lazily('colorsys')\n"
        "import colorsys\n"
        "import inspect\n"
        "inspect.getmodule(compile('1', 'somewhere.py', 'eval'))\n"
        "assert not hasattr(colorsys, '__file__')\n"
        "assert 'rgb_to_hsv' not in vars(colorsys)\n"
        "assert colorsys.rgb_to_hsv(1, 1, 1) == (0.0, 0.0, 1)\n"
        "assert 'rgb_to_hsv' in vars(sys.modules['colorsys'])\n"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def test_a_loaded_or_missing_module_is_left_alone() -> None:
    loaded = sys.modules["json"] if "json" in sys.modules else __import__("json")
    import_lazily("json")
    assert sys.modules["json"] is loaded
    import_lazily("no_such_module_anywhere")
    assert "no_such_module_anywhere" not in sys.modules
