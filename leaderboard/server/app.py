"""The server: the page over a store. It reads the store and the media registered in it, and nothing else."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware
from tliveomni_eval.leaderboard.page_html import served_index, served_policy, static_text
from tliveomni_eval.leaderboard.server.access import AccessControl
from tliveomni_eval.leaderboard.server.running_evaluations import running_evaluations
from tliveomni_eval.leaderboard.server.stored_comparison import StoredComparisons
from tliveomni_eval.leaderboard.store.history_query import slice_history
from tliveomni_eval.leaderboard.store.run_store import RunStore
from tliveomni_eval.leaderboard.store.store_error import StoreError

_HASH = re.compile(r"[0-9a-f]{32}")
_RUN_ID = re.compile(r"[0-9a-f]{16}")
_EMPTY_STORE = """<!doctype html><meta charset="utf-8"><title>TLiveOmni-Eval</title>
<p>This store holds no two runs to compare. <code>tlive store add RUN…</code> adds them; then load this page again."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_PAGE_POLICY = f"{served_policy()}; frame-ancestors 'none'"
_DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
"""Of everything but a page: opened by itself in a tab, a medium or an answer runs nothing and loads nothing."""

_LONGEST_NAME = 500
_MOST_CANDIDATES = 32
_Name = Annotated[str, Query(max_length=_LONGEST_NAME)]


def create_app(
    store: RunStore,
    hosts: Sequence[str] = ("127.0.0.1", "localhost"),
    watched: Path | None = None,
    token: str | None = None,
) -> FastAPI:
    """The application.

    Args:
        store: The store to show.
        hosts: Host names that may be asked for; any other is refused, so that a page of another site that points a name
            at this machine reads nothing.
        watched: A folder of runs whose running evaluations are shown.
        token: What every request must carry; None for none. See `AccessControl`.
    """
    app = FastAPI(title="TLiveOmni-Eval", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(AccessControl, token=token)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    comparisons = StoredComparisons(store)
    app.state.comparisons = comparisons
    registered: dict[str, tuple[Path, str]] = {}
    checked: dict[str, tuple[int, int]] = {}

    @app.middleware("http")
    async def safe_headers(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await proceed(request)
        response.headers.update(_HEADERS)
        is_page = response.headers.get("content-type", "").startswith("text/html")
        response.headers["Content-Security-Policy"] = _PAGE_POLICY if is_page else _DATA_POLICY
        return response

    @app.exception_handler(StoreError)
    def no_such_run(_: Request, error: StoreError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=404)

    @app.get("/")
    def index(
        baseline: _Name | None = None,
        candidate: Annotated[list[str] | None, Query(max_length=_MOST_CANDIDATES)] = None,
    ) -> HTMLResponse:
        chosen = (baseline, candidate) if baseline and candidate else comparisons.default()
        if chosen is None:
            return HTMLResponse(_EMPTY_STORE)
        run_ids = _run_ids([chosen[0], *chosen[1]])
        overview = comparisons.part(run_ids[0], run_ids[1:], "overview")
        assert overview is not None
        return HTMLResponse(served_index(f"api/comparisons/{run_ids[0]}/{','.join(run_ids[1:])}", overview))

    @app.get("/api/comparisons/{baseline}/{candidates}/tasks/{number}")
    def task(baseline: str, candidates: str, number: int) -> Response:
        run_ids = _run_ids([baseline, *candidates.split(",")])
        text = comparisons.part(run_ids[0], run_ids[1:], f"task-{number}")
        if text is None:
            raise HTTPException(404, f"this comparison has no task {number}")
        return Response(text, media_type="application/json")

    @app.get("/api/runs")
    def runs() -> list[dict[str, object]]:
        return [
            {
                "run_id": run.run_id,
                "name": run.name,
                "variant": run.variant,
                "started": run.started.isoformat(),
                "samples": run.samples,
                "duration_s": run.duration_s,
            }
            for run in store.runs()
        ]

    @app.get("/api/running")
    def running() -> list[dict[str, object]]:
        if watched is None:
            return []
        return [run.as_json() for run in running_evaluations(watched, time.time(), store.task_sizes())]

    @app.get("/api/history")
    def history(task: _Name, attribute: _Name | None = None, value: _Name | None = None) -> list[dict[str, object]]:
        return [found.model_dump() for found in slice_history(store, task, attribute, value)]

    @app.get("/media/{digest}")
    def medium(digest: str) -> FileResponse:
        if _HASH.fullmatch(digest) and digest not in registered and (known := store.medium(digest)):
            registered[digest] = known
        found = registered.get(digest)
        if found is None or not _is_unchanged(found[0], digest, checked):
            raise HTTPException(404, "no such medium, or it changed since its run was added")
        return FileResponse(found[0], media_type=found[1], headers={"Cache-Control": "private, max-age=86400"})

    @app.get("/thumbnails/{digest}")
    def thumbnail(digest: str) -> FileResponse:
        path = store.folder / "thumbnails" / f"{digest}.webp"
        if not _HASH.fullmatch(digest) or not path.is_file():
            return medium(digest)
        return FileResponse(path, media_type="image/webp", headers={"Cache-Control": "private, max-age=86400"})

    @app.get("/page.js")
    def script() -> Response:
        return Response(static_text("page.js"), media_type="text/javascript")

    @app.get("/page.css")
    def style() -> Response:
        return Response(static_text("page.css"), media_type="text/css")

    return app


def _run_ids(names: Sequence[str]) -> list[str]:
    if len(names) > _MOST_CANDIDATES + 1:
        raise HTTPException(404, f"at most {_MOST_CANDIDATES} candidates are compared at a time")
    for name in names:
        if not _RUN_ID.fullmatch(name):
            raise HTTPException(404, "a run id has 16 hexadecimal digits")
    return list(names)


def _is_unchanged(path: Path, digest: str, checked: dict[str, tuple[int, int]]) -> bool:
    """Whether a file still is what was registered: a path in a catalogue must not serve what was put there later."""
    try:
        facts = path.stat()
        version = (facts.st_mtime_ns, facts.st_size)
        if checked.get(digest) != version:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest()[:32] != digest:
                    return False
            checked[digest] = version
    except OSError:
        return False
    return True
