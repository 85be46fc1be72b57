from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """What a tiny model computes is too little to share between threads, which on a busy machine only wait."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tliveomni_eval.model_adapters.tliveomni.random_checkpoint import write_random_checkpoint

    return write_random_checkpoint(tmp_path_factory.mktemp("tliveomni") / "tiny")


@pytest.fixture(scope="session")
def processor(tiny_folder: Path) -> Any:
    from tliveomni_eval.model_adapters.tliveomni.registration import register
    from transformers import AutoProcessor

    register()
    return AutoProcessor.from_pretrained(tiny_folder)


@pytest.fixture(scope="session")
def tiny_model(tiny_folder: Path) -> Any:
    from tliveomni_eval.model_adapters.tliveomni.registration import register
    from transformers import AutoModelForImageTextToText

    register()
    return AutoModelForImageTextToText.from_pretrained(tiny_folder).eval()
