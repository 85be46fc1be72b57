"""The page over a store: every view in the browser, and what the server refuses."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect
from synthetic_media import write_media_release
from synthetic_run import planted_regression, samples, with_noise, write_run
from tliveomni_eval.leaderboard.server.app import create_app
from tliveomni_eval.leaderboard.store.run_store import RunStore

Opener = Callable[..., Page]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """Eight releases of `w4a16`, broken from the sixth on, and a baseline."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "media").mkdir()
    data = samples(288, folder / "media")
    store = RunStore(folder / "store")
    base = with_noise(0.05)
    store.add(
        write_run(folder / "runs", "bf16", data, base, start=datetime(2026, 11, 1, tzinfo=UTC)), [folder / "media"]
    )
    for number in range(8):
        answer = planted_regression(base) if number >= 5 else base
        run = write_run(
            folder / "runs" / f"release-{number}",
            "w4a16",
            data,
            answer,
            start=datetime(2026, 11, 2 + number, tzinfo=UTC),
            vllm="0.32.0" if number < 5 else "0.33.0",
        )
        store.add(run, [folder / "media"])
    return store


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one evaluation that has begun, and one that is done."""
    folder = tmp_path_factory.mktemp("running")
    data = samples(8)
    write_run(folder, "done", data, with_noise(0))
    begun = write_run(folder, "w2a16", data, with_noise(0))
    info = json.loads((begun / "run.json").read_text())
    (begun / "run.json").write_text(json.dumps(info | {"end": None, "exit_status": None, "limit": 500}))
    journal = sqlite3.connect(begun / "journal.sqlite")
    journal.execute("CREATE TABLE responses (key TEXT, written_at REAL)")
    hour_ago = time.time() - 3600
    journal.executemany("INSERT INTO responses VALUES (?, ?)", [[str(number), hour_ago] for number in range(117)])
    journal.commit()
    journal.close()
    return folder


@pytest.fixture(scope="module")
def address(store: RunStore, running: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(create_app(store, watched=running), host="127.0.0.1", port=port, log_level="warning")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def client(store: RunStore) -> TestClient:
    return TestClient(create_app(store), base_url="http://127.0.0.1", raise_server_exceptions=False)


def test_matrix_to_sample(open_page: Opener, address: str) -> None:
    page = open_page(address)
    page.locator("article.card .worst a").first.click()
    page.locator(".sample-list tbody a").first.click()
    image = page.locator(".picture img").first
    expect(image).to_be_visible()
    page.wait_for_function("() => document.querySelector('.picture img').naturalWidth === 320")


def test_history_names_the_release_where_the_regression_began(open_page: Opener, address: str, store: RunStore) -> None:
    page = open_page(address, "#/slice/live_ocr/field/price/w4a16")
    page.get_by_role("link", name="History →").click()
    fell = page.locator(".history.fell")
    expect(fell).to_contain_text("A regression began with w4a16")
    expect(fell.locator("h2")).to_have_text("w4a16")
    expect(fell.locator(".plot svg").first).to_be_visible()
    fell.locator("summary").click()
    expect(fell.locator(".changes")).to_contain_text("vllm: 0.32.0 → 0.33.0")
    page.get_by_label("Slice").select_option(label="live_ocr field=name")
    expect(page.locator("h1")).to_contain_text("field=name")
    expect(page.locator(".history.fell")).to_have_count(0)


def test_any_two_runs_can_be_compared(open_page: Opener, address: str, store: RunStore) -> None:
    page = open_page(address, "#/compare")
    rows = page.locator("form tbody tr")
    expect(rows).to_have_count(9)
    page.get_by_label("baseline: w4a16").nth(1).check()
    page.get_by_label("candidate: w4a16").nth(7).check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("table.matrix")).to_be_visible()
    assert "baseline=" in page.url and "candidate=" in page.url


def test_running_evaluations_are_shown(open_page: Opener, address: str) -> None:
    page = open_page(address)
    expect(page.locator(".running li")).to_contain_text(["w2a16 is running: 117 / 288 answers"])
    expect(page.locator(".running li")).to_contain_text(["no answer for 60 min"])
    expect(page.locator(".running progress")).to_have_attribute("value", "117")


def test_leaderboard(open_page: Opener, address: str) -> None:
    page = open_page(address, "#/standings", lang="zh")
    table = page.locator(".standing table tbody tr")
    expect(table).to_have_count(2)
    expect(page.locator(".standing .plot svg").first).to_be_visible()
    expect(page.locator("h1")).to_have_text("排行榜")


@pytest.mark.parametrize("view", ["#/history/live_ocr/field/price", "#/compare"])
def test_no_accessibility_finding_in_what_only_the_server_shows(open_page: Opener, address: str, view: str) -> None:
    page = open_page(address, view, lang="zh", theme="dark")
    page.locator(".history .plot svg, form tbody tr").first.wait_for()
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"][:160]) for one in found] == []


@pytest.mark.parametrize(
    "path",
    [
        "/media/../catalogue.duckdb",
        "/media/..%2f..%2f..%2fetc%2fpasswd",
        "/media/" + "0" * 32,
        "/media/%00",
        "/thumbnails/..%2fcatalogue",
        "/thumbnails/" + "g" * 32,
        "/runs",
        "/catalogue.duckdb",
        "/api/comparisons/..%2f../x/tasks/0",
        "/api/comparisons/0000000000000000/1111111111111111/tasks/0",
        "/?baseline=../..&candidate=x",
        "/?baseline=0000000000000000&candidate=1111111111111111",
        "/docs",
        "/openapi.json",
    ],
)
def test_nothing_outside_is_served(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404, answer.text
    assert "root:" not in answer.text


def test_another_host_name_is_refused(client: TestClient) -> None:
    assert client.get("/api/runs", headers={"Host": "evil.example"}).status_code == 400
    assert client.get("/api/runs").status_code == 200


def test_queries_are_bound_not_pasted(client: TestClient) -> None:
    for text in ("' OR 1=1 --", "x'; DROP TABLE runs; --", "live_ocr\x00"):
        assert client.get("/api/history", params={"task": text}).json() == []
    assert len(client.get("/api/runs").json()) == 9


def test_every_answer_carries_the_safe_headers(client: TestClient) -> None:
    for path in ("/", "/api/runs", "/page.js", "/nothing"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_nothing_that_is_served_may_run_or_load_anything_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/api/runs", "/api/history?task=live_ocr", "/page.js", "/nothing", "/media/" + "0" * 32):
        policy = client.get(path).headers["content-security-policy"]
        rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["frame-ancestors"] == "'none'"
        assert "http" not in policy and "*" not in policy
        assert ("sandbox" in rules) == (path != "/")
        assert "'unsafe" not in rules.get("script-src", "")


@pytest.mark.parametrize(
    "query",
    [
        "/api/history?task=" + "x" * 501,
        "/api/history?task=t&value=" + "x" * 501,
        "/?baseline=" + "0" * 501,
        "/?baseline=0000000000000000&" + "&".join(["candidate=1111111111111111"] * 33),
        "/api/comparisons/0000000000000000/" + ",".join(["1111111111111111"] * 33) + "/tasks/0",
    ],
)
def test_a_query_beyond_the_limits_is_refused(client: TestClient, query: str) -> None:
    assert client.get(query).status_code in (404, 422)


def test_nothing_can_be_written(client: TestClient) -> None:
    for path in ("/", "/api/runs", "/api/history", "/media/" + "0" * 32):
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert client.request(method, path).status_code == 405


def test_a_medium_that_changed_is_not_served(tmp_path: Path) -> None:
    runs = write_media_release(tmp_path)
    store = RunStore(tmp_path / "store")
    store.add(runs / "bf16", [tmp_path / "media"])
    digest = next((store.folder / "thumbnails").iterdir()).stem
    client = TestClient(create_app(store), base_url="http://127.0.0.1")
    assert client.get(f"/media/{digest}").headers["content-type"] == "image/png"
    (tmp_path / "media" / "scene.png").unlink()
    (tmp_path / "media" / "scene.png").symlink_to("/etc/passwd")
    assert client.get(f"/media/{digest}").status_code == 404


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    client = TestClient(create_app(RunStore(tmp_path / "empty")), base_url="http://127.0.0.1")
    answer = client.get("/")
    assert answer.status_code == 200 and "tlive store add" in answer.text
