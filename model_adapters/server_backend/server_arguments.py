"""`--model_args` of `tliveomni_server`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from tliveomni_eval.evals.errors import UserError, unknown_name_message

KEY_VARIABLE = "TLIVE_SERVER_KEY"
_IGNORED = ("batch_size", "max_batch_size", "device")


@dataclass(frozen=True, slots=True)
class ServerArguments:
    """Which server, and how hard it is asked.

    Attributes:
        base_url: Address up to and with `/v1`, as OpenAI clients take it.
        model: Name the server serves it under; empty for the only one it serves.
        concurrency: Requests open at a time, ≥ 1.
        timeout_s: Seconds allowed to one attempt, from sending to the last byte, > 0.
        connect_timeout_s: Seconds allowed to the connection alone, > 0.
        retries: Further attempts after one that failed for a reason that may pass, ≥ 0.
    """

    base_url: str = "http://127.0.0.1:8000/v1"
    model: str = ""
    concurrency: int = 16
    timeout_s: float = 300.0
    connect_timeout_s: float = 10.0
    retries: int = 4

    def __post_init__(self) -> None:
        address = urlsplit(self.base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise UserError(
                f"--model_args: base_url={self.base_url!r} is no address of a server; write http://HOST:PORT/v1"
            )
        if self.concurrency < 1 or self.retries < 0 or not (self.timeout_s > 0 and self.connect_timeout_s > 0):
            raise UserError(
                f"--model_args: concurrency={self.concurrency} must be ≥ 1, retries={self.retries} ≥ 0, "
                f"timeout_s={self.timeout_s} and connect_timeout_s={self.connect_timeout_s} > 0"
            )

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> ServerArguments:
        """Check and type the arguments lmms-eval parsed.

        Args:
            given: Key to value; values may still be text.

        Raises:
            UserError: A key is unknown, or a value has the wrong type or is out of range.
        """
        types: dict[str, type] = {"concurrency": int, "retries": int, "timeout_s": float, "connect_timeout_s": float}
        values: dict[str, Any] = {}
        for key, value in given.items():
            if key in _IGNORED or value is None:
                continue
            if key not in [item.name for item in fields(cls)]:
                known = [item.name for item in fields(cls)]
                raise UserError("--model_args: " + unknown_name_message("key", key, known))
            try:
                values[key] = types.get(key, str)(value)
            except (TypeError, ValueError):
                raise UserError(f"--model_args: {key}={value!r}: must be a number") from None
        return cls(**values)


def api_key(environment: Mapping[str, str] = os.environ) -> str:
    """The key of the server, from `TLIVE_SERVER_KEY`; never an argument, because those are logged."""
    return environment.get(KEY_VARIABLE, "")
