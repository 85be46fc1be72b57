"""Whether the engine was given the prompt that the checkpoint's own processor makes, whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tliveomni_eval.evals.canaries.canary_result import CanaryResult

_NAME = "prompt-fidelity"


@dataclass(frozen=True, slots=True)
class PromptCheck:
    """One sentinel's prompt, as the run had it, as it is rendered again, by the processor, and in the engine.

    Attributes:
        sample: Task and document, for messages.
        run_hash: SHA-256 of the rendered prompt in the run.
        again_hash: SHA-256 of the same prompt rendered again.
        run_tokens: Prompt tokens the engine counted in the run.
        engine_tokens: Prompt tokens by kind now: `all`, and each kind of media.
        processor_tokens: The same by the checkpoint's processor; None where it cannot be called for these media.
        media_asked: Kind of media to how many the messages hold, of the kinds the checkpoint takes.
        media_given: Kind of media to how many went to the engine; the sound of a video is an audio more.
    """

    sample: str
    run_hash: str
    again_hash: str
    run_tokens: int
    engine_tokens: Mapping[str, int]
    processor_tokens: Mapping[str, int] | None
    media_asked: Mapping[str, int]
    media_given: Mapping[str, int]

    def fault(self) -> str:
        """What is wrong; empty where nothing is."""
        if self.run_hash != self.again_hash:
            return (
                "the prompt is rendered differently the second time: the chat template depends on more than the sample"
            )
        for kind, count in self.media_asked.items():
            if self.media_given.get(kind, 0) < count:
                return f"the sample has {count} {kind} and the engine got {self.media_given.get(kind, 0)}"
        length = self.engine_tokens["all"]
        if self.run_tokens != length:
            return f"the prompt had {self.run_tokens} tokens in the run and has {length} now"
        for kind, count in (self.processor_tokens or {}).items():
            got = self.engine_tokens.get(kind, 0)
            if got != count:
                what = "tokens" if kind == "all" else f"tokens of {kind}"
                verb = "was truncated to" if got < count else "has"
                return f"the prompt {verb} {got} {what} in the engine, and the checkpoint's processor makes {count}"
        return ""


def judge_prompt_fidelity(checks: Sequence[PromptCheck]) -> CanaryResult:
    """Decide on all sentinels."""
    faults = [(check.sample, fault) for check in checks if (fault := check.fault())]
    compared = [check for check in checks if check.processor_tokens is not None]
    figures: dict[str, float] = {
        "sentinels": len(checks),
        "compared_with_processor": len(compared),
        "faulty": len(faults),
    }
    if faults:
        sample, fault = faults[0]
        summary = (
            f"{len(faults)} of {len(checks)} prompts are not what the checkpoint asks for, first {sample}: {fault}"
        )
        return CanaryResult(name=_NAME, status="fail", summary=summary, figures=figures)
    if not checks:
        return CanaryResult(name=_NAME, status="not_applicable", summary="no sample to look at", figures=figures)
    summary = f"{len(checks)} prompts are rendered alike and whole"
    counts = [item for check in compared for item in (check.processor_tokens or {}).items()]
    kinds = sorted({kind for kind, count in counts if kind != "all" and count})
    if compared:
        counted = " and ".join(kinds)
        summary += f"; {len(compared)} have the processor's tokens{f', those of {counted} too' if kinds else ''}"
    if len(compared) < len(checks):
        summary += f"; the processor could not be asked about {len(checks) - len(compared)}"
    return CanaryResult(name=_NAME, status="pass", summary=summary, figures=figures)
