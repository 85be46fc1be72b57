from __future__ import annotations

import json
import shutil
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from synthetic_media import write_media_release
from synthetic_run import careless, right, samples, with_noise, write_run
from tliveomni_eval.evals.gate.gate import gate
from tliveomni_eval.evals.logs.log_error import LogError
from tliveomni_eval.evals.logs.run_folder import read_run
from tliveomni_eval.leaderboard.store.catalogue import MIGRATIONS, open_catalogue, rows
from tliveomni_eval.leaderboard.store.run_store import RunStore
from tliveomni_eval.leaderboard.store.store_command import command
from tliveomni_eval.leaderboard.store.store_error import StoreError
from tliveomni_eval.leaderboard.store.store_query import query_store


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    data = samples(96)
    for number, name in enumerate(("bf16", "w8a8", "w4a16")):
        write_run(
            tmp_path / "runs",
            name,
            data,
            [right, with_noise(0.1), careless(right)][number],
            start=datetime(2026, 11, 1 + number, tzinfo=UTC),
        )
    return tmp_path / "runs"


@pytest.fixture
def store(tmp_path: Path, runs: Path) -> RunStore:
    store = RunStore(tmp_path / "store")
    for path in sorted(runs.iterdir()):
        store.add(path)
    return store


def test_the_gate_says_the_same_of_stored_runs_when_the_folders_are_gone(runs: Path, store: RunStore) -> None:
    before = gate(runs / "bf16", runs / "w4a16")
    ids = {run.name: run.run_id for run in store.runs()}
    shutil.rmtree(runs)
    after = gate(store.read(ids["bf16"]), store.read(ids["w4a16"]))
    assert after.slices == before.slices
    assert after.outcome == before.outcome


def test_a_stored_sample_says_what_the_log_said(runs: Path, store: RunStore) -> None:
    ids = {run.name: run.run_id for run in store.runs()}
    logged = read_run(runs / "w4a16").tasks["live_ocr"]
    stored = store.read(ids["w4a16"]).tasks["live_ocr"]
    assert stored.ids == logged.ids
    for position in range(len(logged)):
        ours, theirs = stored.sample(position), logged.sample(position)
        assert (ours["filtered_resps"], ours["target"], ours["input"]) == (
            theirs["filtered_resps"],
            theirs["target"],
            theirs["input"],
        )


def test_adding_twice_adds_once(runs: Path, store: RunStore) -> None:
    run_id, is_new = store.add(runs / "bf16")
    assert not is_new
    assert [run.run_id for run in store.runs()].count(run_id) == 1


def test_many_runs_are_added_in_few_transactions_and_a_bad_one_keeps_none_out(tmp_path: Path) -> None:
    data = samples(2)
    paths = [
        write_run(
            tmp_path / str(number),
            "bf16",
            data,
            right,
            start=datetime(2026, 1, 1 + number % 28, number // 28, tzinfo=UTC),
        )
        for number in range(40)
    ]
    (tmp_path / "bad").mkdir()
    store = RunStore(tmp_path / "store")
    results = list(store.add_all([*paths[:3], tmp_path / "bad", *paths[3:], paths[0]]))
    assert [result.path for result in results] == [*paths[:3], tmp_path / "bad", *paths[3:], paths[0]]
    assert [result.is_new for result in results] == [True] * 3 + [False] + [True] * 37 + [False]
    assert results[3].run_id is None and str(tmp_path / "bad") in results[3].problem
    assert len(store.runs()) == 40


def test_sums_in_the_catalogue_are_those_of_the_samples(runs: Path, store: RunStore) -> None:
    log = read_run(runs / "w4a16").tasks["live_ocr"]
    metric = log.metrics["field_exact"]
    price = log.slices["field"].codes == log.slices["field"].values.index("price")
    query = """SELECT num, den, n FROM results JOIN runs USING (run_id)
               WHERE runs.name = 'w4a16' AND attribute = 'field' AND value = 'price' AND metric = 'field_exact'"""
    with open_catalogue(store.folder) as catalogue:
        (found,) = rows(catalogue, query)
    assert found == {"num": metric.num[price].sum(), "den": metric.den[price].sum(), "n": price.sum()}


def test_rebuild_gives_the_same_catalogue(store: RunStore) -> None:
    def content() -> list[object]:
        with open_catalogue(store.folder) as catalogue:
            return [rows(catalogue, f"SELECT * FROM {table} ORDER BY ALL") for table in ("runs", "results", "media")]

    before = content()
    (store.folder / "catalogue.duckdb").write_bytes(b"damaged")
    with pytest.raises(StoreError, match="rebuild"):
        store.runs()
    assert store.rebuild() == 3
    assert content() == before


def test_delete_and_retention(store: RunStore, runs: Path) -> None:
    newest = store.find("w4a16")
    assert store.delete([newest.run_id]) == 1
    assert {run.name for run in store.runs()} == {"bf16", "w8a8"}
    with pytest.raises(StoreError, match="'w4a16'"):
        store.find("w4a16")
    with pytest.raises(StoreError, match="not in the store"):
        store.read(newest.run_id)
    assert (runs / "w4a16" / "run.json").exists()
    now = datetime(2026, 11, 30, tzinfo=UTC)
    assert store.expired(1, None, now) == []
    assert [run.name for run in store.expired(None, timedelta(days=28.5), now)] == ["bf16"]


@pytest.mark.parametrize("name", ["..", "../runs", "a/b", "", "."])
def test_no_run_id_leaves_the_store(store: RunStore, name: str) -> None:
    with pytest.raises(StoreError):
        store.read(name)
    assert store.delete([name]) == 0
    assert len(store.runs()) == 3


def _add(arguments: tuple[Path, Path]) -> tuple[str, bool]:
    return RunStore(arguments[0]).add(arguments[1])


def test_two_writers_at_once(tmp_path: Path, runs: Path) -> None:
    jobs = [(tmp_path / "shared", path) for path in sorted(runs.iterdir())] * 2
    with ProcessPoolExecutor(2) as pool:
        added = list(pool.map(_add, jobs))
    listed = RunStore(tmp_path / "shared").runs()
    assert {run.run_id for run in listed} == {run_id for run_id, _ in added}
    assert len(listed) == 3
    assert [path.name for path in (tmp_path / "shared" / "runs").iterdir() if path.name.startswith(".")] == []


def test_an_old_catalogue_is_migrated_and_a_newer_one_refused(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    (folder / "runs").mkdir(parents=True)
    with duckdb.connect(str(folder / "catalogue.duckdb")) as connection:
        connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY)")
        connection.execute(MIGRATIONS[0])
        connection.execute("INSERT INTO migrations VALUES (1)")
    with open_catalogue(folder) as catalogue:
        assert rows(catalogue, "SELECT * FROM media") == []
    with duckdb.connect(str(folder / "catalogue.duckdb")) as connection:
        connection.execute("INSERT INTO migrations VALUES (99)")
    with pytest.raises(StoreError, match="newer program"):
        RunStore(folder).runs()


def test_an_unfinished_run_is_refused_and_leaves_nothing(runs: Path, store: RunStore) -> None:
    info = json.loads((runs / "bf16" / "run.json").read_text())
    info["exit_status"] = None
    (runs / "bf16" / "run.json").write_text(json.dumps(info))
    with pytest.raises(LogError, match="has not ended"):
        store.add(runs / "bf16")
    assert len(store.runs()) == 3


def test_media_are_known_by_content_and_get_one_thumbnail(tmp_path: Path) -> None:
    folder = write_media_release(tmp_path)
    store = RunStore(tmp_path / "store")
    for name in ("bf16", "w4a16"):
        store.add(folder / name, [tmp_path / "media"])
    thumbnails = list((store.folder / "thumbnails").iterdir())
    assert len(thumbnails) == 1
    found = store.medium(thumbnails[0].stem)
    assert found is not None and found[0].name == "scene.png" and found[1] == "image/png"
    assert store.medium("0" * 32) is None


def test_commands(tmp_path: Path, runs: Path) -> None:
    def tlive(*arguments: str) -> str:
        result = CliRunner().invoke(command, [*arguments, "--store", str(tmp_path / "by-command")])
        assert result.exit_code == 0, result.output
        return result.output

    assert tlive("add", str(runs)).count("added") == 3
    assert tlive("add", str(runs)).count("known") == 3
    assert [json.loads(line)["name"] for line in tlive("list", "--json").splitlines()] == ["w4a16", "w8a8", "bf16"]
    assert "w8a8" in tlive("list")
    assert "would delete" in tlive("delete", "w8a8", "--dry-run")
    assert "deleted" in tlive("delete", "w8a8")
    assert "2 runs" in tlive("rebuild")
    nothing = CliRunner().invoke(command, ["delete", "--store", str(tmp_path / "by-command")])
    assert nothing.exit_code == 2


def test_sql_over_runs_and_samples(store: RunStore) -> None:
    wrong = query_store(
        store.folder,
        """SELECT name, count(*) AS wrong FROM samples JOIN runs USING (run_id) WHERE num_0 < den_0
           GROUP BY name ORDER BY name""",
    )
    log = read_run(store.folder.parent / "runs" / "w4a16").tasks["live_ocr"]
    expected = int((log.metrics["field_exact"].num < log.metrics["field_exact"].den).sum())
    assert dict(zip(wrong["name"], wrong["wrong"], strict=True))["w4a16"] == expected > 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "COPY runs TO '/tmp/out.csv'",
        "ATTACH '/tmp/other.duckdb'",
        "SET enable_external_access = true",
        "SELECT nothing FROM runs",
    ],
)
def test_a_query_reads_nothing_outside_and_says_what_is_wrong(store: RunStore, sql: str) -> None:
    with pytest.raises(StoreError, match="the query failed"):
        query_store(store.folder, sql)


def test_a_query_changes_nothing(store: RunStore) -> None:
    query_store(store.folder, "DELETE FROM runs")
    assert len(store.runs()) == 3


def test_the_command_query(store: RunStore) -> None:
    arguments = ["query", "SELECT name FROM runs ORDER BY name", "--store", str(store.folder)]
    assert CliRunner().invoke(command, [*arguments, "--format", "csv"]).output.split() == [
        "name",
        "bf16",
        "w4a16",
        "w8a8",
    ]
    lines = CliRunner().invoke(command, [*arguments, "--format", "json"]).output.splitlines()
    assert [json.loads(line) for line in lines] == [{"name": "bf16"}, {"name": "w4a16"}, {"name": "w8a8"}]
    assert "w4a16" in CliRunner().invoke(command, arguments).output
