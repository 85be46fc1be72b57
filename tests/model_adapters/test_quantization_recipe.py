from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.evals.errors import UserError
from tliveomni_eval.model_adapters.quantization.model_parts import part_of
from tliveomni_eval.model_adapters.quantization.modifiers import (
    config_groups,
    ignored_modules,
    quantized_modules,
    resolve_group_size,
)
from tliveomni_eval.model_adapters.quantization.recipe import load_recipe, parse_recipe, recipe_names, with_changes

LINEARS = {
    "model.visual.blocks.0.attn.qkv": (192, 576),
    "model.visual.merger.linear_fc1": (768, 768),
    "model.language_model.layers.0.self_attn.q_proj": (320, 384),
    "model.language_model.layers.0.mlp.down_proj": (960, 320),
    "model.language_model.layers.1.mlp.down_proj": (960, 320),
    "lm_head": (320, 768),
}


def minimal(**changes):
    content = {
        "name": "mine",
        "description": "a recipe of one's own",
        "algorithm": "round_to_nearest",
        "weights": {"num_bits": 4, "strategy": "group", "group_size": 128},
    }
    return {key: value for key, value in (content | changes).items() if value is not None}


def test_package_recipes_are_the_promised_ones():
    assert recipe_names() == ["fp8", "w4a16", "w4naive", "w8a8"]
    w8a8, w4a16, fp8, naive = (load_recipe(name) for name in ("w8a8", "w4a16", "fp8", "w4naive"))
    assert (w8a8.algorithm, w8a8.weights.num_bits, w8a8.weights.type) == ("gptq", 8, "int")
    assert w8a8.activations.type == "int" and w8a8.smoothing_strength is not None
    assert (w4a16.algorithm, w4a16.weights.num_bits, w4a16.weights.group_size) == ("gptq", 4, 128)
    assert w4a16.activations is None
    assert (fp8.weights.type, fp8.activations.type, fp8.activations.dynamic) == ("float", "float", True)
    assert all(recipe.parts == ("language_model",) for recipe in (w8a8, w4a16, fp8))
    assert (naive.algorithm, naive.weights.num_bits, naive.calibration) == ("round_to_nearest", 4, None)
    assert "vision" in naive.parts and "vision_merger" in naive.parts


@pytest.mark.parametrize("name", ["w8a8", "w4a16", "fp8", "w4naive"])
def test_a_recipe_is_named_after_its_file(name):
    assert load_recipe(name).name == name


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"algoritm": "gptq"}, "unknown key 'algoritm'. Did you mean 'algorithm'?"),
        ({"weights": {"num_bits": 4, "grupsize": 32}}, "unknown key in weights 'grupsize'. Did you mean 'group_size'?"),
        ({"weights": {"num_bits": 3}}, "weights.num_bits: Input should be 4 or 8, got 3"),
        ({"weights": {"num_bits": 4, "strategy": "group"}}, "group_size goes with strategy 'group'"),
        ({"weights": {"num_bits": 4, "group_size": 64}}, "group_size goes with strategy 'group'"),
        ({"weights": {"num_bits": 4, "type": "float"}}, "FP8"),
        ({"algorithm": "gptq"}, "a section calibration is needed"),
        ({"calibration": {"samples": 8}}, "remove the section calibration"),
        ({"calibration": {"samples": 0}}, "calibration.samples"),
        ({"smoothing_strength": 0.5, "calibration": {}}, "it needs activations"),
        ({"gptq": {}}, "need algorithm: gptq"),
        ({"parts": ["visoin"]}, "parts.0"),
        ({"name": None}, "key 'name' is missing"),
        ({"activations": {"dynamic": False}}, "a scale for each token cannot be fixed"),
        (
            {"overrides": [{"targets": ["x"], "wieghts": None}]},
            "unknown key in overrides 'wieghts'. Did you mean 'weights'?",
        ),
        ({"name": "../x"}, "name: String should match"),
    ],
)
def test_a_faulty_recipe_is_refused_with_file_and_field(changes, expected, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(minimal(**changes)))
    with pytest.raises(UserError) as refusal:
        load_recipe(file)
    assert expected in str(refusal.value)
    assert str(file) in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "expected"), [("a: [", "not valid YAML"), ("- a\n- b\n", "mapping"), ("", "mapping")]
)
def test_a_file_that_is_no_recipe_is_refused(content, expected, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(content)
    with pytest.raises(UserError, match=expected):
        load_recipe(file)


def test_an_unknown_recipe_names_the_nearest():
    with pytest.raises(UserError, match="Did you mean 'w8a8'"):
        load_recipe("w8a")
    with pytest.raises(UserError, match="does not exist"):
        load_recipe(Path("nowhere/mine.yaml"))


def test_changes_from_the_command_line():
    recipe = with_changes(load_recipe("w8a8"), include=("vision", "vision"), samples=7, first_seed=9)
    assert recipe.parts == ("language_model", "vision")
    assert (recipe.calibration.samples, recipe.calibration.first_seed) == (7, 9)
    assert with_changes(load_recipe("fp8")) == load_recipe("fp8")
    with pytest.raises(UserError, match="Did you mean 'vision'"):
        with_changes(recipe, include=("vison",))
    with pytest.raises(UserError, match="looks at no data"):
        with_changes(load_recipe("fp8"), samples=7)


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("model.language_model.layers.3.self_attn.q_proj", "language_model"),
        ("thinker.model.layers.3.mlp.down_proj", "language_model"),
        ("model.layers.0.mlp.up_proj", "language_model"),
        ("model.visual.blocks.0.mlp.linear_fc1", "vision"),
        ("visual.blocks.0.attn.proj", "vision"),
        ("model.visual.merger.linear_fc2", "vision_merger"),
        ("model.visual.deepstack_merger_list.1.linear_fc1", "vision_merger"),
        ("thinker.visual.merger_list.0.mlp.0", "vision_merger"),
        ("thinker.audio_tower.layers.0.fc1", "audio"),
        ("model.audio_tower.layers.0.self_attn.q_proj", "audio"),
        ("thinker.audio_tower.proj1", "audio_aligner"),
        ("model.audio_deepstack.0.linear_fc1", "audio_aligner"),
        ("lm_head", "lm_head"),
        ("thinker.lm_head", "lm_head"),
        ("talker.code_predictor.small_to_mtp", None),
    ],
)
def test_part_of_a_module(module, part):
    assert part_of(module) == part


def test_everything_outside_the_parts_is_ignored():
    recipe = parse_recipe(minimal(), "here")
    governed = quantized_modules(recipe, LINEARS)
    assert list(governed) == [name for name in LINEARS if "language_model" in name]
    assert ignored_modules(recipe, LINEARS, governed) == [name for name in LINEARS if "language_model" not in name]
    groups = config_groups(recipe, LINEARS)
    assert list(groups) == ["group_0"]
    assert groups["group_0"]["targets"] == ["Linear"]
    assert groups["group_0"]["weights"]["group_size"] == 64
    assert groups["group_0"]["input_activations"] is None


def test_overrides_come_first_and_null_leaves_16_bit():
    recipe = parse_recipe(
        minimal(
            overrides=[
                {"targets": [r"re:.*layers\.0\.mlp\..*"], "weights": {"num_bits": 8}},
                {"targets": ["model.language_model.layers.0.self_attn.q_proj"], "weights": None},
            ]
        ),
        "here",
    )
    governed = quantized_modules(recipe, LINEARS)
    assert "model.language_model.layers.0.self_attn.q_proj" in ignored_modules(recipe, LINEARS, governed)
    groups = config_groups(recipe, LINEARS)
    assert [group["weights"]["num_bits"] for group in groups.values()] == [8, 4]
    assert groups["group_0"]["targets"] == [r"re:.*layers\.0\.mlp\..*"]


def test_recipes_that_touch_nothing_are_refused():
    with pytest.raises(UserError, match="quantizes no linear"):
        quantized_modules(parse_recipe(minimal(parts=["audio"]), "here"), LINEARS)
    idle = parse_recipe(minimal(overrides=[{"targets": ["re:.*nothing"]}]), "here")
    with pytest.raises(UserError, match=r"overrides\.0 names no linear"):
        quantized_modules(idle, LINEARS)


@given(st.lists(st.integers(1, 200).map(lambda n: n * 32), min_size=1, max_size=6), st.sampled_from([32, 64, 100, 128]))
def test_the_group_size_divides_and_is_the_largest(widths, wanted):
    size = resolve_group_size(wanted, {str(index): width for index, width in enumerate(widths)})
    assert 32 <= size <= wanted and all(width % size == 0 for width in widths)
    larger = size * 2
    assert larger > wanted or any(width % larger for width in widths)


def test_a_width_without_a_group_is_named():
    with pytest.raises(UserError, match="odd has 40 inputs"):
        resolve_group_size(128, {"fine": 64, "odd": 40})


def test_the_recipe_in_the_documentation_is_valid(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "quantization.md"
    file = tmp_path / "documented.yaml"
    file.write_text(page.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    recipe = load_recipe(file)
    assert recipe.overrides[0].matches("model.language_model.layers.0.mlp.down_proj")
    assert not recipe.overrides[0].matches("model.language_model.layers.1.mlp.down_proj")
