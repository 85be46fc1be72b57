"""What the server answers with and without a token, and to addresses of any length."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tliveomni_eval.evals.cli import main
from tliveomni_eval.leaderboard.server.access import LONGEST_PATH, LONGEST_QUERY
from tliveomni_eval.leaderboard.server.app import create_app
from tliveomni_eval.leaderboard.store.run_store import RunStore

TOKEN = "correct-horse-battery"
PATHS = [
    "/",
    "/api/runs",
    "/api/running",
    "/api/history?task=x",
    "/page.js",
    "/page.css",
    f"/media/{'a' * 32}",
    "/gone",
]
WRITING = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "store")


def client_of(store: RunStore, token: str | None) -> TestClient:
    app = create_app(store, token=token)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False, follow_redirects=False)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Cookie": f"tlive_access={TOKEN}"},
        {"Cookie": "tlive_access="},
        {"Cookie": "tlive_access=\udcff;;;=".encode("latin-1", "replace").decode("latin-1")},
    ],
)
def test_nothing_is_answered_without_the_token(store: RunStore, path: str, headers: dict[str, str]) -> None:
    answer = client_of(store, TOKEN).get(path, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert TOKEN not in answer.text + str(answer.headers)


def test_the_token_opens_every_address_as_a_header(store: RunStore) -> None:
    client = client_of(store, TOKEN)
    for path in PATHS:
        assert client.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code != 401
    assert client.get("/api/runs", headers={"Authorization": f"bearer {TOKEN}"}).json() == []


def test_a_browser_gets_a_cookie_that_does_not_hold_the_token(store: RunStore) -> None:
    client = client_of(store, TOKEN)
    assert client.get("/?token=wrong-horse-battery").status_code == 401
    assert client.get(f"/api/runs?token={TOKEN}").status_code == 401
    entered = client.get(f"/?token={TOKEN}")
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and TOKEN not in cookie
    assert client.get("/api/runs").status_code == 200
    another = client_of(store, "another-token-of-length")
    another.cookies = client.cookies
    assert another.get("/api/runs").status_code == 401


@pytest.mark.parametrize("method", WRITING)
@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/anything", "/media/x"])
def test_nothing_is_written_without_a_token(store: RunStore, method: str, path: str) -> None:
    assert client_of(store, None).request(method, path, content=b"x").status_code == 405
    assert client_of(store, TOKEN).request(method, path, content=b"x").status_code == 401


@pytest.mark.parametrize(
    "address",
    [
        "/?baseline=" + "x" * LONGEST_QUERY,
        "/api/history?" + "&".join(f"task={number}" for number in range(2000)),
        "/" + "a" * LONGEST_PATH,
        "/media/" + "%41" * LONGEST_PATH,
    ],
)
@pytest.mark.parametrize("token", [None, TOKEN])
def test_an_address_of_any_length_is_refused_before_it_is_read(store: RunStore, address: str, token: str) -> None:
    assert client_of(store, token).get(address).status_code == 414


def test_a_query_of_many_fields_is_no_fault(store: RunStore) -> None:
    assert client_of(store, TOKEN).get("/?" + "&".join(["a=b"] * 1500)).status_code == 401


@pytest.mark.parametrize("token", ["short", "x" * 15, "schlüssel-schlüssel", "a token\nof two lines"])
def test_a_weak_token_is_refused(store: RunStore, token: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--store", str(store.folder), "--token", token])
    assert ended.value.code == 64
    assert "--token: at least 16 printable ASCII characters" in capsys.readouterr().err
