"""MMBench from its official files: rotations, images where they are needed, and faults named by row."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from official_fixtures import as_base64, mmbench_rows, packed, rotated, write_parquet, write_tsv
from tliveomni_eval.tasks.benchmarks.mmbench import read_mmbench
from tliveomni_eval.tasks.benchmarks.official_data import BENCHMARKS_VARIABLE, official_folder
from tliveomni_eval.tasks.benchmarks.table_rows import BenchmarkDataError, read_tsv
from tliveomni_eval.tasks.data_location import data_fingerprint, data_folder
from tliveomni_eval.tasks.image_file import read_image
from tliveomni_eval.tasks.manifest import Sample, load_samples

TASK = "mmbench_circular_en"


def facts(samples: list[Sample]) -> list[tuple[Any, ...]]:
    return [(each.id, each.prompt, each.reference, each.cluster, each.slices, each.context) for each in samples]


def shown_color(folder: Path, sample: Sample) -> tuple[int, int, int]:
    image = read_image(folder / sample.media[0].path)
    assert image.size == (40, 30)
    color = image.getpixel((20, 15))
    assert isinstance(color, tuple)
    return color  # type: ignore[return-value]


def test_rotations_made_here_are_those_of_a_circular_file(tmp_path: Path) -> None:
    once = write_tsv(tmp_path / "once" / "MMBench_DEV_EN.tsv", mmbench_rows()).parent
    circular = write_tsv(tmp_path / "circular" / "MMBench_DEV_EN.tsv", rotated(mmbench_rows())).parent
    samples = read_mmbench(once, TASK, "en")
    assert facts(samples) == facts(read_mmbench(circular, TASK, "en"))
    assert [sample.id for sample in samples[:5]] == ["240", "1000240", "241", "1000241", "2000241"]
    assert len(samples) == 2 * (2 + 3 + 4)
    assert samples[0].slices == {"category": "image_style", "l2_category": "coarse_perception", "options": "2"}
    assert samples[2].prompt is not None
    assert samples[2].prompt.startswith(
        'a\tplain\narea\nWhich colour is shown?\nSay "one".\nA. green\nB. blue\nC. orange\n'
    )


def test_each_rotation_shows_the_right_image(tmp_path: Path) -> None:
    for name, rows in (("once", mmbench_rows()), ("circular", rotated(mmbench_rows()))):
        folder = write_tsv(tmp_path / name / "MMBench_DEV_EN.tsv", rows).parent
        samples = read_mmbench(folder, TASK, "en")
        by_cluster: dict[str, set[tuple[int, int, int]]] = {}
        for sample in samples:
            by_cluster.setdefault(sample.cluster, set()).add(shown_color(folder, sample))
        assert all(len(colors) == 1 for colors in by_cluster.values())
        red = next(iter(by_cluster["240"]))
        assert red[0] > 200 > 60 > red[1]
        assert len(data_fingerprint(folder, samples)) == 64


def test_the_file_itself_and_a_folder_of_benchmarks_can_be_named(tmp_path: Path, monkeypatch: Any) -> None:
    file = write_tsv(tmp_path / "mmbench" / "MMBench_DEV_EN.tsv", mmbench_rows())
    write_tsv(tmp_path / "mmbench" / "MMBench_DEV_CN.tsv", mmbench_rows(4, "cn"))
    monkeypatch.delenv("TLIVE_DATA", raising=False)
    monkeypatch.setenv(BENCHMARKS_VARIABLE, str(tmp_path))
    english = load_samples(data_folder(TASK), TASK)
    chinese = load_samples(data_folder("mmbench_circular_cn"), "mmbench_circular_cn")
    assert (len(english), len(chinese)) == (18, 11)
    assert "请直接使用" in str(chinese[0].prompt)
    monkeypatch.setenv("TLIVE_DATA", str(file))
    alone = load_samples(data_folder(TASK), TASK)
    assert facts(alone) == facts(english)
    assert shown_color(data_folder(TASK), alone[3]) == shown_color(file.parent, english[3])


def test_parquet_is_read_as_the_tsv_is(tmp_path: Path) -> None:
    tsv = write_tsv(tmp_path / "tsv" / "MMBench_DEV_EN.tsv", mmbench_rows()).parent
    rows = [
        {**{("L2-category" if k == "l2-category" else k): (v if v == v else "nan") for k, v in row.items()},
         "image": packed("red")} for row in mmbench_rows()
    ]  # fmt: skip
    write_parquet(tmp_path / "parquet" / "en" / "dev-00000-of-00001.parquet", rows)
    write_parquet(tmp_path / "parquet" / "cn" / "dev-00000-of-00001.parquet", rows[:1])
    samples = read_mmbench(tmp_path / "parquet", TASK, "en")
    assert facts(samples) == facts(read_mmbench(tsv, TASK, "en"))
    assert shown_color(tmp_path / "parquet", samples[-1]) == (255, 0, 0)


def test_a_question_without_one_of_its_rotations_stays_incomplete(tmp_path: Path) -> None:
    rows = [row for row in rotated(mmbench_rows()) if row["index"] != 1_000_241]
    folder = write_tsv(tmp_path / "MMBench_DEV_EN.tsv", rows).parent
    samples = read_mmbench(folder, TASK, "en")
    assert [sample.id for sample in samples if sample.cluster == "241"] == ["241", "2000241"]


def broken(change: Any) -> list[dict[str, Any]]:
    rows = mmbench_rows()
    change(rows)
    return rows


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows[2].update(answer="D", D=float("nan")), r"row 3, column answer: 'D' is none of"),
        (lambda rows: rows[1].update(answer=float("nan")), r"row 2, column answer: is empty \(index 241\)"),
        (lambda rows: rows[3].update(index="x7"), r"row 4, column index: must be a whole number, got 'x7'"),
        (lambda rows: rows[3].update(index=240), r"row 4, column index: 240 is also the index of row 1"),
        (lambda rows: rows[4].update(A=rows[4]["B"]), r"row 5.*two options have the same text"),
        (lambda rows: rows[0].update(image="999"), r"row 1, column image: names the image of index 999"),
        (lambda rows: rows[0].update(image=float("nan")), r"row 1, column image: is empty"),
        (lambda rows: rows[5].update(question=""), r"row 6, column question: is empty"),
        (lambda rows: rows[0].update(A=float("nan"), B="nan"), r"row 1.*two options at least, index 240 has 0"),
    ],
)  # fmt: skip
def test_a_fault_names_its_row(tmp_path: Path, change: Any, says: str) -> None:
    folder = write_tsv(tmp_path / "MMBench_DEV_EN.tsv", broken(change)).parent
    with pytest.raises(BenchmarkDataError, match=says):
        read_mmbench(folder, TASK, "en")


def test_a_damaged_image_names_its_row_when_it_is_read(tmp_path: Path) -> None:
    def damage(rows: list[dict[str, Any]]) -> None:
        rows[1]["image"] = as_base64("red")[:400]
        rows[2]["image"] = "!" * 400

    folder = write_tsv(tmp_path / "MMBench_DEV_EN.tsv", broken(damage)).parent
    samples = {sample.id: sample for sample in read_mmbench(folder, TASK, "en")}
    for name, says in (("241", "row=2&"), ("242", "row 3: no image")):
        with pytest.raises(Exception, match=says) as raised:
            read_image(folder / samples[name].media[0].path)
        assert "Error" in type(raised.value).__name__
        assert "MMBench_DEV_EN.tsv" in str(raised.value)


def test_a_cut_file_and_a_missing_one_are_named(tmp_path: Path, monkeypatch: Any) -> None:
    file = write_tsv(tmp_path / "a" / "MMBench_DEV_EN.tsv", mmbench_rows())
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(BenchmarkDataError, match="row 6"):
        read_mmbench(file.parent, TASK, "en")
    (tmp_path / "b").mkdir()
    with pytest.raises(BenchmarkDataError, match=r"no MMBench file; put \*_CN\*\.tsv"):
        read_mmbench(tmp_path / "b", TASK, "zh")
    write_tsv(tmp_path / "b" / "MMBench_DEV_EN.tsv", mmbench_rows())
    write_tsv(tmp_path / "b" / "MMBench_DEV_EN_V11.tsv", mmbench_rows())
    with pytest.raises(BenchmarkDataError, match="several files"):
        read_mmbench(tmp_path / "b", TASK, "en")
    monkeypatch.setenv(BENCHMARKS_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(BenchmarkDataError, match=r"MMBench_DEV_EN\.tsv into a folder 'mmbench'.*TLIVE_BENCHMARKS"):
        official_folder(TASK, None)


def test_without_any_data_the_message_says_how_to_get_it(monkeypatch: Any) -> None:
    import huggingface_hub

    def unreachable(*_: Any, **__: Any) -> str:
        raise OSError("no route")

    monkeypatch.delenv(BENCHMARKS_VARIABLE, raising=False)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with pytest.raises(BenchmarkDataError, match=r"hub gave none \(no route\).*hf download lmms-lab/MMBench"):
        official_folder(TASK, None)


def test_reading_holds_no_image_in_memory(tmp_path: Path) -> None:
    rows = mmbench_rows(40)
    for row in rows:
        row["image"] = "A" * 400_000
    folder = write_tsv(tmp_path / "MMBench_DEV_EN.tsv", rows).parent
    tracemalloc.start()
    read_mmbench(folder, TASK, "en")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4_000_000 < (folder / "MMBench_DEV_EN.tsv").stat().st_size


CELL = st.text(st.sampled_from('ab"\t\n 苹,'), max_size=8)


@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_any_cells_that_pandas_writes_are_read_back(rows: list[tuple[str, str]], tmp_path_factory: Any) -> None:
    file = write_tsv(
        tmp_path_factory.mktemp("tsv") / "t.tsv",
        [{"a": first, "image": "x" * 80, "b": second} for first, second in rows],
    )
    read = [(row.cells["a"], row.cells["b"]) for row in read_tsv(file.parent, file)]
    assert read == rows
