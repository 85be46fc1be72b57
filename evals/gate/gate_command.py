"""`tlive gate`: the release gate on the command line."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from tliveomni_eval.evals.gate.verdict import GateReport


_HELP = """Decide for every slice whether a candidate lost more than the budget.

\b
Exit status: 0 PASS, 1 BREACH, 2 INCONCLUSIVE, 3 MISSING or not comparable, 64 usage error.
A run folder is one of `tlive run`, of `lmms-eval --log_samples` or of `lm_eval --log_samples`.
"""


class _GateGroup(click.Group):
    """The group `gate`: decides by itself, and has a few subcommands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a subcommand; an unknown one is a usage error that names the nearest known one."""
        from tliveomni_eval.evals.errors import unknown_name_message

        if args and args[0] not in self.commands:
            ctx.fail(unknown_name_message("subcommand of gate", args[0], list(self.commands)))
        return super().resolve_command(ctx, args)


def _known_fields(ctx: click.Context, parameter: click.Parameter, fields: tuple[str, ...]) -> tuple[str, ...]:
    if fields:
        from tliveomni_eval.evals.errors import unknown_name_message
        from tliveomni_eval.evals.gate.comparability import ALLOWABLE_FIELDS
        from tliveomni_eval.evals.gate.run_trust import TRUST_FIELDS

        known = [*ALLOWABLE_FIELDS, *TRUST_FIELDS]
        for field in fields:
            if field not in known:
                raise click.BadParameter(unknown_name_message("field", field, known))
    return fields


@click.group(
    name="gate",
    help=_HELP,
    cls=_GateGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--baseline", type=click.Path(path_type=Path), help="Run folder of the 16-bit backend.")
@click.option(
    "--candidate",
    "candidates",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Run folder of a quantized backend; may be given several times.",
)
@click.option(
    "--policy", type=click.Path(path_type=Path), help="Budget policy (YAML); 1.5 % for every slice without it."
)
@click.option("--noise", type=click.Path(path_type=Path), help="A second run of the baseline: tells loss from noise.")
@click.option(
    "--allow",
    multiple=True,
    callback=_known_fields,
    metavar="FIELD",
    help="Compare although this field differs, or although canary:NAME failed; the result records it.",
)
@click.option("--task", "tasks", multiple=True, help="Gate this task only; may be given several times.")
@click.option("--json", "json_path", metavar="FILE", help="Write the result as JSON; - for standard output.")
@click.option("--junit", "junit_path", metavar="FILE", help="Write the result as JUnit XML; - for standard output.")
@click.option(
    "--markdown", "markdown_path", metavar="FILE", help="Write the result as Markdown; - for standard output."
)
@click.option("--all", "show_all", is_flag=True, help="Show every slice, not only the worst 40.")
@click.option(
    "--outputs",
    "look_at_outputs",
    is_flag=True,
    help="Read the outputs too: name slices with more loops, empty outputs, echoes or another language.",
)
@click.pass_context
def command(
    ctx: click.Context,
    baseline: Path | None,
    candidates: tuple[Path, ...],
    policy: Path | None,
    noise: Path | None,
    allow: tuple[str, ...],
    tasks: tuple[str, ...],
    json_path: str | None,
    junit_path: str | None,
    markdown_path: str | None,
    show_all: bool,
    look_at_outputs: bool,
) -> int:
    """Decide for every slice whether a candidate lost more than the budget; see `_HELP`."""
    if ctx.invoked_subcommand is not None:
        return 0
    if baseline is None:
        raise click.UsageError("--baseline RUN is missing", ctx)
    if not candidates:
        raise click.UsageError("--candidate RUN is missing", ctx)
    outputs = {"--json": json_path, "--junit": junit_path, "--markdown": markdown_path}
    to_stdout = [option for option, path in outputs.items() if path == "-"]
    if len(to_stdout) > 1:
        raise click.UsageError(f"{' and '.join(to_stdout)} cannot both go to standard output", ctx)

    with _without_garbage_collection():
        from tliveomni_eval.evals.gate.gate import gate_candidates

        report = gate_candidates(baseline, candidates, policy, noise=noise, allow=allow, tasks=tasks or None)
    _write_files(report, json_path, junit_path, markdown_path)
    if not to_stdout:
        _print(report, show_all)
        if look_at_outputs:
            _print_output_notes(baseline, candidates, tasks)
    return report.exit_status


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Logs are trees without cycles: the collector finds nothing in them and takes a quarter of the time of reading."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@command.command("init")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", metavar="FILE", default="-", help="Where to write the policy; standard output by default."
)
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def init_command(run: Path, output: str, force: bool) -> int:
    """Write a policy for the tasks and slices of RUN, with every key explained."""
    from tliveomni_eval.evals.errors import UserError
    from tliveomni_eval.evals.gate.policy_error import USAGE_ERROR_STATUS
    from tliveomni_eval.evals.gate.policy_template import policy_template
    from tliveomni_eval.evals.logs.run_folder import read_run

    if output != "-" and not force and os.path.lexists(output):
        raise UserError(f"{output}: exists already; --force overwrites it", USAGE_ERROR_STATUS)
    _write(output, policy_template(read_run(run)))
    if output != "-":
        click.echo(f"wrote {output}: tlive gate --baseline {run} --candidate RUN --policy {output}")
    return 0


@command.command("schema")
@click.option("--result", is_flag=True, help="The schema of what --json writes instead of that of a policy.")
def schema_command(result: bool) -> int:
    """Print the JSON Schema of a policy, for the completion and the checks of an editor."""
    import json

    if result:
        from tliveomni_eval.evals.gate.verdict import GateReport

        schema = GateReport.model_json_schema(mode="serialization")
    else:
        from tliveomni_eval.evals.gate.policy import Policy

        schema = Policy.model_json_schema()
    click.echo(json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2))
    return 0


@command.command("plan")
@click.argument("run", type=click.Path(path_type=Path), required=False)
@click.option("--quality", type=float, help="Without RUN: share of samples that the baseline gets right.")
@click.option("--policy", type=click.Path(path_type=Path), help="The policy the candidate will be judged by.")
@click.option("--flip-rate", default=0.02, show_default=True, help="Share of clusters supposed to change, either way.")
@click.option("--loss", default=0.0, show_default=True, help="True relative loss supposed.")
@click.option("--change", default=1.0, show_default=True, help="Share of its quality that a changed cluster moves by.")
@click.option("--power", default=0.8, show_default=True, help="Probability of a verdict.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan_command(
    run: Path | None,
    quality: float | None,
    policy: Path | None,
    flip_rate: float,
    loss: float,
    change: float,
    power: float,
    as_json: bool,
) -> int:
    """Compute how many clusters each slice needs, before a candidate is evaluated.

    From a RUN of the baseline, or from the --quality of a slice alone.
    """
    if (run is None) == (quality is None):
        raise click.UsageError("give either a RUN of the baseline or --quality")
    from tliveomni_eval.evals.gate.policy import Policy
    from tliveomni_eval.evals.gate.run_plan import Supposition, plan_quality, plan_slices
    from tliveomni_eval.evals.logs.run_folder import read_run

    rules = Policy()
    if policy is not None:
        from tliveomni_eval.evals.gate.policy_file import read_policy

        rules = read_policy(policy)
    supposed = Supposition(flip_rate=flip_rate, loss=loss, change=change, power=power)
    try:
        if run is not None:
            planned = plan_slices(read_run(run), rules, supposed)
        else:
            assert quality is not None
            planned = [plan_quality(quality, rules.rule("", ""), supposed)]
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        import json

        click.echo(json.dumps([item.as_json() for item in planned], indent=2))
    else:
        from tliveomni_eval.evals.gate.plan_table import print_plan

        print_plan(planned, supposed, _console())
    return 0


def _print(report: GateReport, show_all: bool) -> None:
    from tliveomni_eval.evals.gate.terminal_table import print_report

    print_report(report, _console(), None if show_all else 40)


def _print_output_notes(baseline: Path, candidates: tuple[Path, ...], tasks: tuple[str, ...]) -> None:
    from tliveomni_eval.evals.gate.output_notes import output_notes
    from tliveomni_eval.evals.gate.printable import printable

    for candidate in candidates:
        notes = output_notes(baseline, candidate, tasks or None)
        click.echo(f"outputs of {printable(candidate.name)}: {'' if notes else 'nothing beyond chance'}".rstrip())
        for note in notes:
            click.echo(f"  {printable(note, 300)}")


def _console() -> Console:
    """A console that never fails on a character, and is wide where no terminal says how wide it is."""
    import sys

    from rich.console import Console

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=140)
    return console


def _write_files(report: GateReport, json_path: str | None, junit_path: str | None, markdown_path: str | None) -> None:
    if json_path:
        _write(json_path, report.model_dump_json(indent=2) + "\n")
    if junit_path:
        from tliveomni_eval.evals.gate.junit_report import junit_report

        _write(junit_path, junit_report(report))
    step_summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if markdown_path or step_summary:
        from tliveomni_eval.evals.gate.markdown_report import markdown_report

        text = markdown_report(report)
        if markdown_path:
            _write(markdown_path, text)
        if step_summary:
            _write(step_summary, text + "\n", append=True)


def _write(path: str, text: str, append: bool = False) -> None:
    from tliveomni_eval.evals.errors import UserError
    from tliveomni_eval.evals.gate.policy_error import USAGE_ERROR_STATUS

    if path == "-":
        click.echo(text, nl=False)
        return
    try:
        with open(path, "a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"{path}: result cannot be written: {error.strerror}", USAGE_ERROR_STATUS) from error
