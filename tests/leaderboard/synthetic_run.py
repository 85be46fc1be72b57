"""Run folders as `tlive run` leaves them, with losses planted on purpose, for the tests of the page."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from rapidfuzz.distance import Levenshtein
from tliveomni_eval.evals.logs.run_info import Checkpoint, RunInfo, read_run_info
from tliveomni_eval.evals.serving_figures import BenchReport, Workload

DATE = "20261130_120000"
NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
PROMPTS = {"zh": "读出图中的价格标签,只回答文字。", "en": "Read the tag in the image. Answer with its text only."}
ATTRIBUTES = {
    "lang": ("zh", "en"),
    "text_px": ("12-16", "17-24", "25-32", "33-48"),
    "field": ("price", "sku", "name", "promo"),
    "quality": ("clean", "jpeg", "blur"),
}


@dataclass(frozen=True)
class SyntheticSample:
    """One sample; `slices` are those of `ATTRIBUTES`."""

    id: str
    reference: str
    slices: Mapping[str, str]
    media: Sequence[str] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


Answer = Callable[[SyntheticSample, random.Random], str]
"""What a model answers to a sample, with randomness of its own."""


def right(sample: SyntheticSample, _: random.Random) -> str:
    """The answer of a model that reads everything."""
    return sample.reference


def one_digit_wrong(sample: SyntheticSample) -> str:
    """The reference with its first 8 read as 0, or its first digit changed where it has no 8."""
    if "8" in sample.reference:
        return sample.reference.replace("8", "0", 1)
    for index, character in enumerate(sample.reference):
        if character.isdigit():
            return f"{sample.reference[:index]}{(int(character) + 1) % 10}{sample.reference[index + 1 :]}"
    return sample.reference[:-1]


def with_noise(share: float) -> Answer:
    """A model that loses the last character of a share of the samples, the same ones on each call for one seed."""

    def answer(sample: SyntheticSample, rng: random.Random) -> str:
        return sample.reference[:-1] if rng.random() < share else sample.reference

    return answer


def planted_regression(base: Answer) -> Answer:
    """The regression of the acceptance test: one digit wrong in small prices (`text_px=12-16`, `field=price`)."""

    def answer(sample: SyntheticSample, rng: random.Random) -> str:
        said = base(sample, rng)
        if sample.slices["text_px"] == "12-16" and sample.slices["field"] == "price" and rng.random() < 0.7:
            return one_digit_wrong(sample)
        return said

    return answer


def careless(base: Answer) -> Answer:
    """Damage everywhere: wrong digits, empty answers, lost tails."""

    def answer(sample: SyntheticSample, rng: random.Random) -> str:
        said = base(sample, rng)
        fate = rng.random()
        hard = 0.5 if sample.slices["text_px"] == "12-16" else 0.18
        if fate < hard * 0.6:
            return one_digit_wrong(sample)
        if fate < hard * 0.75:
            return ""
        return sample.reference[: len(sample.reference) // 2] if fate < hard else said

    return answer


def samples(count: int, media_folder: Path | None = None, seed: int = 0) -> list[SyntheticSample]:
    """`count` samples, every combination of slice values equally often; with images where a folder is given."""
    rng = random.Random(seed)
    made = []
    for index in range(count):
        place = index
        slices = {}
        for attribute, values in ATTRIBUTES.items():
            slices[attribute] = values[place % len(values)]
            place //= len(values)
        reference = _reference(slices, rng)
        media = []
        if media_folder is not None:
            path = media_folder / f"ocr-{index:05d}.webp"
            _draw(reference, slices, index, path)
            media = [str(path)]
        made.append(SyntheticSample(f"ocr-{index:05d}", reference, slices, media))
    return made


def write_run(
    folder: Path,
    name: str,
    data: Sequence[SyntheticSample],
    answer: Answer,
    *,
    task: str = "live_ocr",
    detail: Callable[[SyntheticSample, str], Mapping[str, Any]] = lambda sample, _: sample.detail,
    seed: int = 0,
    start: datetime = datetime(2026, 11, 30, 12, tzinfo=UTC),
    vllm: str = "0.32.0",
) -> Path:
    """Writes the folder of one run and returns it."""
    run = folder / name
    logs = run / "tliveomni_vllm"
    logs.mkdir(parents=True)
    lines = [_sample_line(index, sample, answer, detail, seed) for index, sample in enumerate(data)]
    with (logs / f"{DATE}_samples_{task}.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(_json_line(line) + "\n" for line in lines)
    metrics = ("field_exact", "edit_similarity", "anls")
    results = {
        "results": {
            task: {
                "alias": task,
                **{f"{metric},none": sum(line[metric]["num"] for line in lines) / len(lines) for metric in metrics},
            }
        },
        "configs": {
            task: {
                "task": task,
                "generation_kwargs": {"max_new_tokens": 192, "temperature": 0},
                "metric_list": [{"metric": metric} for metric in (*metrics, "record")],
                "metadata": {
                    "version": 1,
                    "headline": "field_exact",
                    "ability": "ocr",
                    "modality": "image",
                    "sensitivity": "precision",
                    "slices": list(ATTRIBUTES),
                },
            }
        },
        "versions": {task: 1},
        "n-shot": {task: 0},
        "higher_is_better": {task: dict.fromkeys((*metrics, "record"), True)},
        "n-samples": {task: {"original": len(lines), "effective": len(lines)}},
        "config": {"model": "tliveomni_vllm"},
        "model_name": "tliveomni_vllm",
        "lmms_eval_version": "0.7.3",
    }
    (logs / f"{DATE}_results.json").write_text(json.dumps(results), encoding="utf-8")
    RunInfo(
        name=name,
        variant=name,
        model="tliveomni_vllm",
        checkpoint=Checkpoint(path=f"checkpoints/{name}", files={}, fingerprint=f"{abs(hash_of(name)):064x}"[:64]),
        engine_args={
            "max_model_len": 4096,
            "max_num_seqs": 64,
            "quantization": None if name == "bf16" else "compressed-tensors",
        },
        decoding={"temperature": 0, "seed": 0},
        versions={"vllm": vllm, "transformers": "5.13.0", "torch": "2.13.0"},
        hardware={"device": "cpu", "cores": 2},
        data={task: "d" * 64},
        prompts={task: "p" * 64},
        tasks=[task],
        command=["tlive", "run", "--variants", name],
        start=start,
        end=start + timedelta(seconds=41.5 + len(name)),
        exit_status=0,
    ).write(run)
    return run


def write_release(folder: Path, data: Sequence[SyntheticSample]) -> dict[str, Path]:
    """A baseline and three candidates: harmless, with the planted regression, careless."""
    base = with_noise(0.05)
    return {
        "bf16": write_run(folder, "bf16", data, base),
        "w8a8": write_run(folder, "w8a8", data, base),
        "w4a16": write_run(folder, "w4a16", data, planted_regression(base)),
        "w4naive": write_run(folder, "w4naive", data, careless(base)),
    }


def write_serving_figures(
    run: Path, seconds: float, memory_bytes: int, hardware: Mapping[str, Any] | None = None, name: str = "bench.json"
) -> Path:
    """Writes what `tlive bench` would of the checkpoint of a run folder, one image at a time, and returns the file."""
    info = read_run_info(run / "run.json")
    path = run / name
    BenchReport(
        name=info.name,
        backend="vllm",
        variant=info.variant,
        model=info.checkpoint.path,
        checkpoint_fingerprint=info.checkpoint.fingerprint,
        timeout_s=60,
        hardware=dict(hardware or info.hardware),
        start=info.start,
        end=info.start + timedelta(minutes=1),
        workloads=[
            Workload(
                name="image",
                modality="image",
                seconds_per_sample=seconds,
                ttft_s=seconds / 3,
                tpot_s=seconds / 30,
                peak_memory_bytes=memory_bytes,
            )
        ],
    ).write(path)
    return path


def hash_of(text: str) -> int:
    """A number that depends on the text alone, unlike `hash`."""
    return int.from_bytes(text.encode(), "big")


def _sample_line(
    index: int,
    sample: SyntheticSample,
    answer: Answer,
    detail: Callable[[SyntheticSample, str], Mapping[str, Any]],
    seed: int,
) -> dict[str, Any]:
    text = answer(sample, random.Random(ascii(f"{seed}/{sample.id}")))
    similarity = 1 - Levenshtein.normalized_distance(sample.reference, text)
    exact = float(text == sample.reference)
    return {
        "doc_id": index,
        "target": sample.reference,
        "resps": [[text]],
        "filtered_resps": text,
        "input": PROMPTS[sample.slices.get("lang", "en")] if sample.slices.get("lang") in PROMPTS else PROMPTS["en"],
        "token_counts": [{"output_tokens": len(text) + 1}],
        "input_media": list(sample.media),
        "doc_hash": "same",
        "field_exact": {"id": sample.id, "num": exact, "den": 1},
        "edit_similarity": {"id": sample.id, "num": similarity, "den": 1},
        "anls": {"id": sample.id, "num": similarity if similarity >= 0.5 else 0.0, "den": 1},
        "record": {
            "id": sample.id,
            "cluster": sample.id,
            "slices": dict(sample.slices),
            "status": "ok" if text else "empty",
            "detail": dict(detail(sample, text)),
        },
    }


def _json_line(line: Mapping[str, Any]) -> str:
    text = json.dumps(line, ensure_ascii=False)
    return text if text.encode("utf-8", "replace").decode() == text else json.dumps(line)


def _reference(slices: Mapping[str, str], rng: random.Random) -> str:
    chinese = slices["lang"] == "zh"
    match slices["field"]:
        case "price":
            return f"{'¥' if chinese else '$'}{rng.randint(1, 899)}.{rng.choice(('90', '88', '80', '50'))}"
        case "sku":
            return f"{''.join(rng.choices('ABCDEFHKMNRTX', k=2))}-{rng.randint(1000, 9899)}-{rng.choice('SMLX')}"
        case "name":
            if chinese:
                return rng.choice(("云朵", "晨露", "山茶", "青柠")) + rng.choice(
                    ("保湿面霜", "洗发水", "蓝牙耳机", "保温杯")
                )
            return (
                f"{rng.choice(('Nimbus', 'Aster', 'Solace'))} {rng.choice(('Face Cream', 'Earbuds', 'Steel Bottle'))}"
            )
        case _:
            if chinese:
                return f"满{rng.randint(2, 9)}00减{rng.randint(10, 88)}"
            return f"Buy {rng.randint(2, 5)} save {rng.randint(10, 68)}%"


def _draw(text: str, slices: Mapping[str, str], index: int, path: Path) -> None:
    rng = random.Random(index)
    width, height = 320, 192
    hue = rng.randint(0, 359)
    image = Image.new("RGB", (width, height), f"hsl({hue}, 28%, 62%)")
    draw = ImageDraw.Draw(image)
    for _ in range(9):
        x, y, radius = rng.randint(0, width), rng.randint(0, height), rng.randint(12, 70)
        shade = f"hsl({(hue + rng.randint(-24, 24)) % 360}, 34%, {rng.randint(48, 78)}%)"
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=shade)
    size = int(slices["text_px"].split("-")[0]) + 1
    font = ImageFont.load_default(size)
    left, _, right_, bottom = draw.textbbox((0, 0), text, font=font)
    x, y = rng.randint(16, max(17, width - int(right_) - 20)), rng.randint(24, height - 70)
    draw.rounded_rectangle((x - 9, y - 7, x + right_ - left + 11, y + bottom + 8), 5, fill="#fffdf6")
    draw.text((x, y), text, font=font, fill="#23180f")
    image.save(path, "WEBP", method=0, quality=72 if slices["quality"] == "clean" else 24)
