"""Who may ask the server for what: an optional token, no writing without it, and no address of any length."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LONGEST_QUERY = 8_192
"""Bytes of a query; a comparison of 32 run ids takes about a thousand."""

LONGEST_PATH = 2_048
SHORTEST_TOKEN = 16
_READING = ("GET", "HEAD")
_COOKIE = "tlive_access"
_PARAMETER = "token"


class AccessControl:
    """Middleware that answers 401, 405 or 414 before anything else is done.

    With a token, every request carries it: as `Authorization: Bearer TOKEN`, or as the cookie that a browser gets when
    it opens `/?token=TOKEN` once. The cookie is a digest, which no script can read and no other site's request carries.
    Without a token the server is for reading only, whatever its routes are.

    Args:
        app: What is protected.
        token: The token, of at least `SHORTEST_TOKEN` characters; None where none is asked for.
    """

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self._app = app
        self._token = token
        self._ticket = "" if token is None else hashlib.sha256(f"{_COOKIE}:{token}".encode()).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await (self._answer(Request(scope)) or self._app)(scope, receive, send)

    def _answer(self, request: Request) -> ASGIApp | None:
        """What is answered in the place of the application; None where the application answers."""
        query: bytes = request.scope["query_string"]
        if len(query) > LONGEST_QUERY or len(request.scope["path"]) > LONGEST_PATH:
            return PlainTextResponse("the address is too long", 414)
        if self._token is None:
            if request.method in _READING:
                return None
            return PlainTextResponse("nothing can be written without a token", 405, {"Allow": ", ".join(_READING)})
        if self._is_known(request):
            return None
        given = parse_qs(query.decode("latin-1")).get(_PARAMETER, [""])[-1]
        if request.method == "GET" and request.scope["path"] == "/" and self._is_token(given):
            entered = RedirectResponse("/", 303, {"Cache-Control": "no-store"})
            entered.set_cookie(_COOKIE, self._ticket, httponly=True, samesite="strict")
            return entered
        return PlainTextResponse(
            "this server asks for its token: open /?token=TOKEN, or send Authorization: Bearer TOKEN",
            401,
            {"WWW-Authenticate": "Bearer"},
        )

    def _is_known(self, request: Request) -> bool:
        scheme, _, credential = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(credential.strip()):
            return True
        return _equal(request.cookies.get(_COOKIE, ""), self._ticket)

    def _is_token(self, given: str) -> bool:
        return _equal(given, self._token or "")


def _equal(given: str, expected: str) -> bool:
    """In a time that does not tell how much of it is right; an empty expectation equals nothing."""
    return bool(expected) and hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
