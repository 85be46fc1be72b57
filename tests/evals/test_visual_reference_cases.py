"""Reference values of grounding, localization and CircularEval; for the rules see `test_reference_cases.py`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_reference_cases import CASES, NO_SCORER, Convention, Row, judge
from tliveomni_eval.evals.metrics.average_precision import COCO_STATISTICS, DetectedBox, ReferenceBox, coco_statistics
from tliveomni_eval.evals.metrics.box_parser import parse_boxes
from tliveomni_eval.evals.metrics.choice_answer import letters_of, read_choice
from tliveomni_eval.evals.metrics.circular_eval import RotationAnswer, circular_report, rotations
from tliveomni_eval.evals.metrics.localization import box_iou, to_pixels
from tliveomni_eval.evals.metrics.model_output import read_output
from tliveomni_eval.evals.metrics.set_payload import DetectionPayload, PooledDetections, category_detections
from tliveomni_eval.evals.metrics.temporal_grounding import (
    MAP_THRESHOLDS,
    qvhighlights_average_precision,
    soda,
    temporal_iou,
)
from tliveomni_eval.evals.metrics.temporal_span import parse_spans


def score_temporal_grounding_row(row: Row) -> Any:
    given, metric = row["input"], row["metric"]
    if metric.startswith("QVHighlights"):
        if row.get("note") == "reversed":
            return Convention("a reversed span is wrong, not a match by NaN (metrics/temporal_grounding.py)")
        return qvhighlights(given)
    if metric == "tIoU":
        return float(temporal_iou([tuple(given["gt"])], [tuple(given["pred"])])[0, 0])
    if metric == "timestamp parse":
        spans = [[span.start, span.end] for span in parse_spans(read_output(given), "seconds").spans]
        if spans and not row["expected"] and "reference gap" in row["source"]:
            return Convention("units and 'starts at … ends at …' are read (metrics/temporal_span.py)")
        return spans
    if metric.startswith("SODA"):
        return soda(given["gt"], given["pred"])
    if metric == "ActivityNet AP":
        payloads = []
        for video in sorted({item[0] for item in [*given["gt"], *given["pred"]]}):
            truth = [(start, end) for name, start, end in given["gt"] if name == video]
            found = [(start, end) for name, start, end, _ in given["pred"] if name == video]
            scores = [score for name, _, _, score in given["pred"] if name == video]
            payloads.append(DetectionPayload({"": category_detections(temporal_iou(found, truth), scores)}))
        by_threshold = PooledDetections(payloads, "every_point").average_precision()[0].tolist()
        assert by_threshold == pytest.approx(row["expected"]["ap_05_095"])
        return {"average": float(np.mean(by_threshold))}
    return NO_SCORER


def qvhighlights(given: Row) -> Any:
    predicted = [tuple(span) for span in given["pred_scored"]]
    average_precision = qvhighlights_average_precision([tuple(span) for span in given["gt"]], predicted)
    names = [f"{threshold:g}" for threshold in MAP_THRESHOLDS]
    computed = {name: round(100 * float(value), 2) for name, value in zip(names, average_precision, strict=True)}
    first = float(temporal_iou([predicted[0][:2]], given["gt"]).max())
    return {
        "mAP": computed | {"average": round(100 * float(average_precision.mean()), 2)},
        "R1": {name: 100.0 * (first >= threshold) for name, threshold in zip(names, MAP_THRESHOLDS, strict=True)},
    }


def score_localization_row(row: Row) -> Any:
    given, metric, note = row["input"], row["metric"], row.get("note", "")
    if metric.startswith("COCO"):
        if "NaN" in note:
            with pytest.raises(ValueError, match="finite"):
                detected(given["dt"][0])
            return Convention("a NaN box is refused (metrics/average_precision.py)")
        computed = coco(given)
        if note == "empty detections":
            assert computed[0] == 0.0
            return Convention("no detection at all gives 0 (metrics/average_precision.py)")
        if "id=0" in note:
            assert computed[0] == pytest.approx(1.0)
            return Convention("annotation ids start at 1 (metrics/average_precision.py)")
        return computed if computed != pytest.approx(row["expected"], abs=1e-6) else row["expected"]
    if metric == "IoU xyxy":
        return float(box_iou([tuple(given["a"])], [tuple(given["b"])])[0, 0])
    if metric == "bbox parse":
        return [{"bbox": list(item.box), "label": item.label} for item in parse_boxes(read_output(given)).boxes]
    if metric == "0-1000 -> pixel":
        return list(to_pixels(tuple(given["bbox_0_1000"]), "relative_1000", given["W"], given["H"]))
    if "do not imitate" in metric:
        return Convention("the coordinate space is declared, never chosen by score (metrics/localization.py)")
    return NO_SCORER


def coco(given: Row) -> list[float]:
    names = given.get("imgs") or sorted({item["image_id"] for item in [*given["gt"], *given["dt"]]})
    images = {
        str(name): (
            [ReferenceBox(corners(item), "", item.get("area")) for item in given["gt"] if item["image_id"] == name],
            [detected(item) for item in given["dt"] if item["image_id"] == name],
        )
        for name in names
    }
    statistics = coco_statistics(images)
    values = [statistics[name] for name in COCO_STATISTICS]
    return [-1.0 if value is None else value for value in values]


def corners(item: Row) -> tuple[float, float, float, float]:
    x, y, width, height = item["bbox"]
    return (x, y, x + width, y + height)


def detected(item: Row) -> DetectedBox:
    return DetectedBox(corners(item), item["score"])


def score_circular_row(row: Row) -> Any:
    given, metric, expected = row["input"], row["metric"], row["expected"]
    if metric.startswith("can_infer"):
        letter = read_choice(given["pred"], given["choices"]).letter
        if expected is False and letter is not None:
            return Convention("Chinese statements and small letters are read (metrics/choice_answer.py)")
        return letter or False
    if metric.startswith("rotations"):
        requests = rotations(given["index"], given["options"], "ABCD".index(given["answer"]))
        empty = dict.fromkeys("ABCD")
        return [{"index": item.index, "GT": item.answer} | empty | item.options for item in requests]
    if metric == "circular hit":
        options, answer = given["options"], "ABCD".index(given["answer"])
        answers = [
            RotationAnswer(item.index, item.options, item.answer, read_choice(output, item.options).letter)
            for item, output in zip(rotations(7, options, answer), given["preds"], strict=False)
        ]
        report = circular_report(answers)
        if "rotations_present" in given:
            assert report.missing == (7,)
            return Convention("a question without all rotations is missing (metrics/circular_eval.py)")
        return int(report.circular.num)
    if "OpenCompass" in metric:
        left = [[*given[shift:], *given[:shift]] for shift in range(len(given))]
        shown = [list(item.options.values()) for item in rotations(0, given, 0)]
        assert left == expected == shown and letters_of(given)["A"] == "A"
        return expected
    return NO_SCORER


CASE_SCORERS: dict[str, Callable[[Row], Any]] = {
    "localization.jsonl": score_localization_row,
    "mmbench_circular.jsonl": score_circular_row,
    "temporal_grounding.jsonl": score_temporal_grounding_row,
}


@pytest.mark.parametrize("name", sorted(CASE_SCORERS))
def test_rows_agree_with_the_reference(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = CASES / name
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    tally, different = judge(rows, CASE_SCORERS[name])
    if rows:
        with capsys.disabled():
            counted = ", ".join(f"{count} {what}" for what, count in sorted(tally.items()))
            print(f"\n{name}: {len(rows)} rows: {counted}, {len(different)} differ")
    assert not different, "\n".join(different)


def test_a_wrong_value_is_reported() -> None:
    row = {"source": "by hand", "input": {"gt": [0, 10], "pred": [0, 5]}, "metric": "tIoU"}
    tally, different = judge([row | {"expected": 0.5}, row | {"expected": math.nan}], score_temporal_grounding_row)
    assert tally == {"agree": 1}
    assert len(different) == 1
