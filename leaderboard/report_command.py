"""`tlive report`: the per-slice regression page of some runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    type=click.Path(path_type=Path),
    help="NAME.html: one file. NAME.csv, .md, .json: the release matrix; NAME.svg: a badge. Other names: a folder.",
)
@click.option("--baseline", metavar="NAME", help="Variant or name of the baseline  [default: bf16, else the first run]")
@click.option("--policy", type=click.Path(path_type=Path), help="Policy of the gate  [default: 1.5 % for every slice]")
@click.option(
    "--media",
    type=click.Choice(["changed", "all", "none"]),
    help="Samples that carry their media  [default: changed in one file, all in a folder]",
)
@click.option(
    "--media-root",
    "media_roots",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A further folder whose media may be shown; repeatable.",
)
@click.option("--allow", multiple=True, metavar="FIELD", help="A difference that does not forbid the comparison.")
@click.option("--noise", type=click.Path(path_type=Path), help="A second run of the baseline: tells loss from noise.")
@click.option(
    "--evidence",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A bench.json or parity.json of a run's checkpoint; those in run folders are found. Repeatable.",
)
@click.option("--title", help="Heading of the page.")
@click.option("--limit-mb", default=48, show_default=True, help="Largest page in one file, in MB.")
def command(
    runs: tuple[Path, ...],
    output: Path,
    baseline: str | None,
    policy: Path | None,
    media: str | None,
    media_roots: tuple[Path, ...],
    allow: tuple[str, ...],
    noise: Path | None,
    evidence: tuple[Path, ...],
    title: str | None,
    limit_mb: int,
) -> None:
    """Write a page that shows which slice of which candidate broke, which samples, and why.

    RUN… are run folders of `tlive run` or output folders of `lmms-eval --log_samples`, or a folder that holds several.
    The page opens from disk; it needs no network and no server. A folder holds the data and the media beside the page.
    """
    from tliveomni_eval.leaderboard.report import write_report

    written = write_report(
        runs,
        output,
        baseline=baseline,
        policy=policy,
        media=media,  # type: ignore[arg-type]  # click checked it
        media_roots=media_roots,
        allow=allow,
        noise=noise,
        evidence=evidence,
        title=title,
        limit=limit_mb * 10**6,
    )
    if written.media_note:
        click.echo(written.media_note, err=True)
    click.echo(f"{written.outcome}  {written.page.resolve()}  ({written.size / 1e6:.1f} MB)")
