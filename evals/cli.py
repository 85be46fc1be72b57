"""The command `tlive`: a thin shell whose subcommands live beside the code they call and are imported when used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click
from tliveomni_eval.evals.errors import UserError, unknown_name_message

USAGE_ERROR_STATUS = 64
INTERRUPTED_STATUS = 130

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "run": ("tliveomni_eval.model_adapters.run.run_command", "Evaluate one or more variants, one process each."),
    "journal": (
        "tliveomni_eval.model_adapters.vllm_backend.journal_command",
        "Inspect, verify or prune the responses a run kept.",
    ),
    "gate": ("tliveomni_eval.evals.gate.gate_command", "Decide whether a candidate stays inside the loss budget."),
    "circular": ("tliveomni_eval.evals.circular_command", "Report CircularEval and position bias of a run."),
    "parity": (
        "tliveomni_eval.model_adapters.parity.parity_command",
        "Compare vLLM with transformers by token.",
    ),
    "report": ("tliveomni_eval.leaderboard.report_command", "Write the per-slice regression page."),
    "store": ("tliveomni_eval.leaderboard.store.store_command", "Keep runs: add, list, delete, rebuild."),
    "serve": ("tliveomni_eval.leaderboard.server.serve_command", "Serve the page over a store."),
    "track": ("tliveomni_eval.leaderboard.tracking.track_command", "Log runs and verdicts to MLflow or W&B."),
    "tasks": ("tliveomni_eval.tasks.tasks_command", "List our tasks with slices, metrics and sizes."),
    "models": ("tliveomni_eval.model_adapters.models_command", "List our lmms-eval models and embedded variants."),
    "data": ("tliveomni_eval.tasks.data_command", "Check a folder of your own data."),
    "compose": ("tliveomni_eval.tasks.composer.compose_command", "Generate live-stream samples."),
    "calibrate": (
        "tliveomni_eval.model_adapters.calibration.calibrate_command",
        "Choose the samples that a quantized model is calibrated on.",
    ),
    "bench": ("tliveomni_eval.model_adapters.serving.bench_command", "Measure what a backend costs to serve."),
    "recommend": ("tliveomni_eval.evals.recommend_command", "Say which variant to ship on which hardware."),
    "quantize": ("tliveomni_eval.model_adapters.quantization.quantize_command", "Make a quantized checkpoint."),
}
"""Name of a subcommand: the module whose `command` it is, and the line the overview shows."""


class LazyGroup(click.Group):
    """A click group that imports a subcommand only when that one is run.

    `tlive gate` must answer within a second or two, so it cannot pay for what `tlive run` imports.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all subcommands, in the order of a release."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a subcommand, or None where there is none of that name."""
        if cmd_name not in SUBCOMMANDS:
            return None
        module = importlib.import_module(SUBCOMMANDS[cmd_name][0])
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a subcommand; an unknown one is a usage error that names the nearest known one."""
        if args and args[0] not in SUBCOMMANDS and not args[0].startswith("-"):
            ctx.fail(unknown_name_message("subcommand", args[0], list(SUBCOMMANDS)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the table alone, importing nothing."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in SUBCOMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tliveomni-eval", prog_name="tlive")
def tlive() -> None:
    """Find what a quantized omni-modal model lost, slice by slice, and decide whether it may ship."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `tlive` and end the process with its exit status.

    Args:
        arguments: Command-line words after `tlive`; those of the process by default.
    """
    try:
        status = tlive.main(
            args=None if arguments is None else list(arguments), prog_name="tlive", standalone_mode=False
        )
    except click.UsageError as error:
        error.show()
        sys.exit(USAGE_ERROR_STATUS)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_status)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED_STATUS)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)
