"""The HTML around the page's data. Whatever comes from a log is JSON inside a data block, which no text can leave."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")

_FAVICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'%3E"
    "%3Ccircle cx='9' cy='9' r='8' fill='%23b8301c'/%3E%3C/svg%3E"
)


def script_safe_json(data: BaseModel | Mapping[str, Any]) -> str:
    r"""JSON that may stand inside a `<script>` element: no `<`, `>` or `&`, and no line separator of JavaScript.

    >>> script_safe_json({"answer": "</script><b>"})
    '{"answer":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    # A lone surrogate in an answer is legal in JSON's \\u form only, and pydantic refuses it: dump without encoding.
    plain = data.model_dump(mode="python") if isinstance(data, BaseModel) else data
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def static_text(name: str) -> str:
    """A file of the built front end.

    Args:
        name: `page.js` or `page.css`.
    """
    return files("tliveomni_eval.leaderboard").joinpath("static", name).read_text(encoding="utf-8")


def single_file(title: str, overview: BaseModel, tasks: Sequence[BaseModel]) -> str:
    """The whole page as one file that needs nothing beside it."""
    script, style = static_text("page.js"), static_text("page.css")
    blocks = [("tlive-form", script_safe_json({"form": "single"})), ("tlive-overview", script_safe_json(overview))]
    blocks += [(f"tlive-task-{index}", script_safe_json(task)) for index, task in enumerate(tasks)]
    policy = _policy(script_source=f"'sha256-{_sha256(script)}'", media_source="data:")
    return _document(title, policy, f"<style>{style}</style>", blocks, f"<script>{script}</script>")


def folder_index(title: str, overview: BaseModel) -> str:
    """The page of the folder form; `page.js`, `page.css`, `data/` and `media/` stand beside it."""
    blocks = [("tlive-form", script_safe_json({"form": "folder"})), ("tlive-overview", script_safe_json(overview))]
    policy = _policy(script_source="'self' file:", media_source="'self' file: data:")
    return _document(
        title, policy, '<link rel="stylesheet" href="page.css">', blocks, '<script src="page.js"></script>'
    )


def served_index(api: str, overview_json: str) -> str:
    """The page of the server.

    Args:
        api: Path below which the server answers for this comparison.
        overview_json: The overview as `script_safe_json` made it.
    """
    blocks = [("tlive-form", script_safe_json({"form": "server", "api": api})), ("tlive-overview", overview_json)]
    return _document(
        "TLiveOmni-Eval",
        served_policy(),
        '<link rel="stylesheet" href="page.css">',
        blocks,
        '<script src="page.js"></script>',
    )


def served_policy() -> str:
    """The Content-Security-Policy of the server's page: its own scripts and media, and nothing from anywhere else."""
    return _policy(script_source="'self'", media_source="'self' data:") + "; connect-src 'self'"


def folder_task_script(index: int, task: BaseModel) -> str:
    """The script that hands one task to the page of the folder form."""
    return f"tliveTask({index},{script_safe_json(task)});\n"


def _policy(script_source: str, media_source: str) -> str:
    return (
        f"default-src 'none'; script-src {script_source}; style-src 'unsafe-inline' 'self' file:; font-src data:; "
        f"img-src {media_source}; media-src {media_source}; base-uri 'none'; form-action 'none'"
    )


def _document(title: str, policy: str, style: str, blocks: Sequence[tuple[str, str]], script: str) -> str:
    data = "\n".join(f'<script type="application/json" id="{name}">{text}</script>' for name, text in blocks)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{html.escape(title)}</title>
<link rel="icon" href="{_FAVICON}">
{style}
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript; it loads nothing from a network.</noscript>
{data}
{script}
</body>
</html>
"""


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
