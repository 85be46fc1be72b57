"""`tlive serve`: the page over a store, on this machine."""

from __future__ import annotations

from pathlib import Path

import click
from tliveomni_eval.leaderboard.store.store_command import store_option


@click.command("serve")
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8642, show_default=True, type=click.IntRange(0, 65535))
@click.option("--watch", default="runs", show_default=True, type=click.Path(path_type=Path),
              help="A folder of runs, or of folders of them, whose running evaluations are shown.")  # fmt: skip
@click.option("--token", envvar="TLIVE_TOKEN", show_envvar=True,
              help="What every request must carry, at least 16 characters. Others of this machine read a command line: "
              "better in the environment. Without it, nobody is asked who they are.")  # fmt: skip
def command(folder: Path, host: str, port: int, watch: Path, token: str | None) -> None:
    """Serve the release matrix, history and every sample of the runs in a store."""
    import threading

    import uvicorn
    from tliveomni_eval.leaderboard.server.access import SHORTEST_TOKEN
    from tliveomni_eval.leaderboard.server.app import create_app
    from tliveomni_eval.leaderboard.store.run_store import RunStore
    from tliveomni_eval.leaderboard.store.store_error import StoreError

    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise click.UsageError(f"--token: at least {SHORTEST_TOKEN} printable ASCII characters, got {len(token)}")
    if not (folder / "runs").is_dir():
        raise StoreError(f"{folder} is no store; `tlive store add RUN… --store {folder}` makes one")
    hosts = ["127.0.0.1", "localhost", host] if host not in ("0.0.0.0", "::") else ["*"]
    if hosts == ["*"] and token is None:
        click.echo("warning: everyone who reaches this machine can read the store; set TLIVE_TOKEN", err=True)
    hint = "" if token is None else "; in a browser, open it with ?token=TOKEN once"
    click.echo(f"http://{host}:{port}/  (Ctrl-C ends it{hint})")
    app = create_app(RunStore(folder), hosts, watch, token)
    ended = threading.Event()
    threading.Thread(target=app.state.comparisons.keep_default_built, args=(ended,), daemon=True).start()
    try:
        uvicorn.run(app, host=host, port=port, log_level="warning")
    finally:
        ended.set()
