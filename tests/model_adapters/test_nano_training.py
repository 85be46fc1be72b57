"""The trainer's parts, and a whole run of two steps on the CPU."""

import multiprocessing
import signal
import time

import numpy as np
import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.model_adapters.nano import ocr_source, train
from tliveomni_eval.model_adapters.nano.architecture import NanoDimensions
from tliveomni_eval.model_adapters.nano.build_tokenizer import default_tokenizer
from tliveomni_eval.model_adapters.nano.cuda_graphs import capture
from tliveomni_eval.model_adapters.nano.curriculum import Schedule, draw_shape_classes
from tliveomni_eval.model_adapters.nano.export import untrained_model
from tliveomni_eval.model_adapters.nano.glyph_sheet import ALPHABET, BLANK, SLOTS_A_PATCH, draw_glyph_sheet
from tliveomni_eval.model_adapters.nano.glyph_task import GlyphTask, glyph_loss
from tliveomni_eval.model_adapters.nano.image_pool import ImagePools, Pool, PoolLayout, RendererError
from tliveomni_eval.model_adapters.nano.lean_vision import patches_of
from tliveomni_eval.model_adapters.nano.ocr_task import OcrTask, ocr_loss
from tliveomni_eval.model_adapters.nano.prompt_encoding import EncodedTail, PromptEncoder
from tliveomni_eval.model_adapters.nano.prompt_shape import prompt_shape
from tliveomni_eval.model_adapters.nano.training_state import TrainingState, initial_weights, load_masters

CPU = torch.device("cpu")
TINY = {
    "hidden_size": 64,
    "num_layers": 2,
    "num_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "mrope_section": [6, 5, 5],
    "intermediate_size": 128,
    "vision_hidden_size": 64,
    "vision_depth": 2,
    "vision_num_heads": 2,
    "vision_intermediate_size": 128,
    "deepstack_visual_indexes": [0],
}


@pytest.fixture(scope="module")
def encoder():
    return PromptEncoder(default_tokenizer())


@pytest.fixture(scope="module")
def model(encoder):
    return untrained_model(NanoDimensions.from_mapping(TINY), encoder.tokenizer, seed=1)


def ocr_batch(task, size, count):
    """A batch of easy examples of one size, with the pool it belongs to."""
    rows, seed = [], 0
    while len(rows) < count:
        encoded = task.encoded(ocr_source.training_example(seed, 0.0))
        seed += 1
        if encoded is not None and encoded[0] == task.pool_name(size, "line"):
            rows.append(encoded[1])
    return {name: torch.from_numpy(np.stack([row[name] for row in rows])) for name in rows[0]}


def test_one_batch_is_overfitted(model, encoder):
    task = OcrTask(model.config, encoder, {"line": 64, "table": 120}, corruption=0.0)
    size = (320, 192)
    batch = ocr_batch(task, size, 4)
    torch.manual_seed(0)
    state = TrainingState(initial_weights(model, {}, seed=0), CPU, average_decay=0.5, weight_decay=0.0)
    prefix = torch.tensor(encoder.prefix_ids)
    shape = prompt_shape(model.config, size, len(prefix), 64)
    state.rate.fill_(4e-3)
    losses = []
    for _ in range(60):
        loss = ocr_loss(state.weights, model.config, shape, prefix, batch, corruption=0.0)
        state.add_gradients(loss)
        state.step()
        losses.append(float(loss.detach()))
    assert losses[0] > 4
    assert losses[-1] < 0.05


def test_the_loss_covers_the_answer_and_nothing_else(model, encoder):
    task = OcrTask(model.config, encoder, {"line": 64, "table": 120})
    size = (320, 192)
    batch = ocr_batch(task, size, 2)
    weights = initial_weights(model, {}, seed=0)
    prefix = torch.tensor(encoder.prefix_ids)
    shape = prompt_shape(model.config, size, len(prefix), 64)

    def loss_of(tail):
        return float(ocr_loss(weights, model.config, shape, prefix, {**batch, "tail": tail}, corruption=0.0))

    padding_changed, answer_changed = batch["tail"].clone(), batch["tail"].clone()
    for row, (start, end) in enumerate(batch["answer"].tolist()):
        padding_changed[row, end:] = 5
        answer_changed[row, start] = 5
    assert loss_of(padding_changed) == pytest.approx(loss_of(batch["tail"]), abs=1e-6)
    assert loss_of(answer_changed) != pytest.approx(loss_of(batch["tail"]), abs=1e-3)


def test_corruption_changes_inputs_only_inside_the_answer(model, encoder):
    task = OcrTask(model.config, encoder, {"line": 64, "table": 120})
    batch = ocr_batch(task, (320, 192), 2)
    empty_answer = {**batch, "answer": batch["answer"].clone()}
    empty_answer["answer"][:, 0] = empty_answer["answer"][:, 1] - 1  # only the end of turn, which is never an input
    weights = initial_weights(model, {}, seed=0)
    prefix = torch.tensor(encoder.prefix_ids)
    shape = prompt_shape(model.config, (320, 192), len(prefix), 64)
    clean, corrupted = (
        float(ocr_loss(weights, model.config, shape, prefix, empty_answer, share)) for share in (0.0, 1.0)
    )
    assert corrupted == pytest.approx(clean, abs=1e-6)
    assert float(ocr_loss(weights, model.config, shape, prefix, batch, 1.0)) != pytest.approx(
        float(ocr_loss(weights, model.config, shape, prefix, batch, 0.0)), abs=1e-4
    )


def test_samples_that_do_not_fit_their_pool_are_left_out(model, encoder):
    task = OcrTask(model.config, encoder, {"line": 20, "table": 20})
    assert task.sample(1, 1.0) is None
    with pytest.raises(ValueError, match="21 tokens do not fit into 20"):
        EncodedTail(tuple(range(21)), 3).padded(20)


def test_glyph_labels_stand_where_the_characters_are(model):
    sheet = draw_glyph_sheet(4, (320, 192), smallest_px=20)
    again = draw_glyph_sheet(4, (320, 192), smallest_px=20)
    assert sheet.labels.shape == (240, SLOTS_A_PATCH)
    assert np.array_equal(sheet.pixels, again.pixels) and np.array_equal(sheet.labels, again.labels)
    assert sheet.labels.min() == BLANK and (sheet.labels != BLANK).sum() > 0 and sheet.labels.max() <= len(ALPHABET)
    # Ink makes a patch uneven: patches with a character vary more than those without.
    spread = patches_of(torch.from_numpy(sheet.pixels.copy())[None], torch.float)[0].std(-1).numpy()
    inked = sheet.labels[:, 0] != BLANK
    assert spread[inked].mean() > 1.5 * spread[~inked].mean()


def test_the_glyph_task_learns(model):
    task = GlyphTask(model.config, batch_size=2)
    sheets = [task.sample(seed, 0.0)[1] for seed in range(2)]
    batch = {name: torch.from_numpy(np.stack([sheet[name] for sheet in sheets])) for name in sheets[0]}
    state = TrainingState(initial_weights(model, task.extra_weights(), 0), CPU, average_decay=0.5, weight_decay=0.0)
    shape = prompt_shape(model.config, task.image_size, 1, 1)
    label_weights = torch.ones(len(ALPHABET) + 1)
    state.rate.fill_(3e-3)
    losses = []
    for _ in range(15):
        loss = glyph_loss(state.weights, model.config, shape, label_weights, batch)
        state.add_gradients(loss)
        state.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]


def test_a_pool_is_a_ring():
    layout = PoolLayout({"value": ((), "int16")}, capacity=6)
    pool = Pool(layout, {"value": torch.zeros(6, dtype=torch.int16)}, torch.ones(()))
    pool.store({"value": torch.arange(1, 5, dtype=torch.int16)}, 4)
    assert float(pool.filled) == 4
    assert set(pool.draw(200)["value"].tolist()) == {1, 2, 3, 4}
    pool.store({"value": torch.arange(5, 9, dtype=torch.int16)}, 4)
    assert pool.tensors["value"].tolist() == [7, 8, 3, 4, 5, 6]
    assert float(pool.filled) == 6 and pool.received == 8


LAYOUTS = {
    "even": PoolLayout({"seed": ((), "int16"), "image": ((2, 3), "uint8")}, 32),
    "odd": PoolLayout({"seed": ((), "int16")}, 32),
}


def numbered_source(seed, difficulty):
    if seed % 5 == 4:
        return None
    if seed % 2:
        return "odd", {"seed": np.int16(seed)}
    return "even", {"seed": np.int16(seed), "image": np.full((2, 3), seed % 256, np.uint8)}


def failing_source(seed, difficulty):
    raise LookupError("no such glyph")


def pools_until(pools, done):
    """Refreshes until a condition holds; the test's own timeout ends a hang."""
    while not done():
        pools.refresh()
        time.sleep(0.01)


def test_renderers_fill_the_pools_with_whole_samples():
    pools = ImagePools(LAYOUTS, numbered_source, renderers=2, chunk_size=4)
    pools.start()
    try:
        pools.allocate(CPU)
        pools_until(pools, lambda: all(pool.received >= 16 for pool in pools.pools.values()))
    finally:
        pools.stop()
    even = pools.pools["even"].tensors
    assert (even["seed"][:16] % 2 == 0).all()
    assert torch.equal(even["image"][:16].amax((1, 2)).short(), even["seed"][:16] % 256)
    assert (pools.pools["odd"].tensors["seed"][:16] % 2 == 1).all()


def test_a_renderer_that_fails_ends_the_run_with_its_traceback():
    pools = ImagePools(LAYOUTS, failing_source, renderers=1)
    pools.start()
    try:
        pools.allocate(CPU)
        with pytest.raises(RendererError, match=r"(?s)failing_source.*no such glyph"):
            pools_until(pools, lambda: False)
    finally:
        pools.stop()


def test_renderers_end_although_the_parent_handles_the_signal():
    earlier = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        pools = ImagePools(LAYOUTS, numbered_source, renderers=2)
        pools.start()
        pools.stop()
    finally:
        signal.signal(signal.SIGTERM, earlier)
    assert multiprocessing.active_children() == []


def test_a_renderer_that_is_killed_ends_the_run():
    pools = ImagePools(LAYOUTS, numbered_source, renderers=1)
    pools.start()
    try:
        pools.allocate(CPU)
        pools._processes[0].kill()
        with pytest.raises(RendererError, match="ended with status -9"):
            pools_until(pools, lambda: False)
    finally:
        pools.stop()


@given(st.floats(0, 1), st.integers(0, 10_000))
def test_the_schedule_stays_in_range(progress, step):
    schedule = Schedule(peak_rate=1e-3)
    assert 0 <= schedule.difficulty(progress) <= 1
    assert 0 < schedule.learning_rate(progress, step) <= 1e-3
    assert schedule.trains_glyphs(progress, step) or progress >= schedule.glyphs_until


def test_the_schedule_warms_up_hardens_and_ends_low():
    schedule = Schedule(peak_rate=1e-3, warmup_steps=100)
    assert schedule.learning_rate(0, 0) == pytest.approx(1e-5)
    assert schedule.learning_rate(0, 200) == pytest.approx(1e-3)
    assert schedule.learning_rate(1, 200) == pytest.approx(1e-5)
    assert [schedule.difficulty(progress) for progress in (0, 0.15, 0.3, 1)] == [0, 0.5, 1, 1]
    with pytest.raises(ValueError, match="'peak'"):
        Schedule.from_mapping({"peak": 1})


def test_shape_classes_are_drawn_as_often_as_their_samples_come():
    rng = np.random.default_rng(0)
    drawn = draw_shape_classes(rng, [800, 200, 500], [8, 4, 8], [True, True, False], 3000)
    assert set(drawn) == {0, 1}
    assert drawn.count(0) / 3000 == pytest.approx(100 / 150, abs=0.03)
    assert draw_shape_classes(rng, [0], [8], [False], 2) == []


def test_without_a_gpu_a_call_runs_as_it_is():
    calls = []
    captured = capture("count", lambda: calls.append(1), CPU)
    captured()
    captured()
    assert calls == [1, 1] and captured.reason == "no GPU"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hiden_size": 4}, "hiden_size"),
        ({"mrope_section": [1, 1, 1]}, "sum to half of head_dim"),
        ({"vision_num_heads": 5}, "must divide by vision_num_heads"),
        ({"vision_position_embeddings": 500}, "square"),
    ],
)
def test_wrong_dimensions_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        NanoDimensions.from_mapping(values)


def test_dimensions_round_trip():
    assert NanoDimensions.from_mapping(NanoDimensions().to_mapping()) == NanoDimensions()


def test_a_run_trains_saves_and_resumes(tmp_path):
    handler = signal.getsignal(signal.SIGTERM)
    config = tmp_path / "config.yaml"
    settings = yaml.safe_load(train.DEFAULT_CONFIG.read_text())
    settings["model"] = TINY
    settings["ocr"] |= {"patches_a_batch": 480, "largest_batch": 2, "capacity": 32, "classes_a_step": 1}
    settings["glyphs"] |= {"batch_size": 2, "capacity": 32}
    settings["validation"] |= {"samples": 1}
    config.write_text(yaml.safe_dump(settings))
    common = ["--config", str(config), "--cpu", "--renderers", "1", "--minutes", "30"]
    first, second = tmp_path / "first", tmp_path / "second"
    assert train.main([*common, "--out", str(first), "--steps", "2", "--progress", "0", "0.5"]) == 0
    log = (first / "training.log").read_text()
    assert "weights saved after 2 steps" in log and "final validation, 1 samples" in log and "ETA" in log
    assert {path.name for path in first.iterdir()} >= {
        "masters-0.safetensors",
        "weights-0.safetensors",
        "tokenizer.json",
    }

    assert (
        train.main([*common, "--out", str(second), "--steps", "1", "--progress", "0.5", "1", "--resume", str(first)])
        == 0
    )
    assert multiprocessing.active_children() == []
    assert signal.getsignal(signal.SIGTERM) == handler
    before, after = load_masters(first), load_masters(second)
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert all((before[name] - after[name]).abs().max() < 0.01 for name in before)
