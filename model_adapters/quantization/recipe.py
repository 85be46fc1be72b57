"""A quantization recipe: what is quantized, to how many bits, by which algorithm, calibrated on what.

Recipes are YAML files. Those of the package have a name (`w8a8`, `w4a16`, `fp8`, `w4naive`); a file of one's own is
given by its path. The words are those of llm-compressor and compressed-tensors, which execute the recipe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from tliveomni_eval.evals.errors import UserError, unknown_name_message
from tliveomni_eval.model_adapters.quantization.model_parts import PARTS, Part

RECIPE_FOLDER = Path(__file__).parent / "recipes"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WeightScheme(_Section):
    """How a weight matrix of shape (out, in) is stored.

    Attributes:
        num_bits: Bits a weight.
        type: `int`, or `float` for FP8 (E4M3).
        strategy: What shares one scale: the `tensor`, an output `channel`, or a `group` of inputs of one channel.
        group_size: Largest allowed group; the size used is the largest power of two up to it that divides the input
            width of every quantized module. Only with strategy `group`.
        symmetric: Whether the range is symmetric around zero (no zero point).
    """

    num_bits: Literal[4, 8]
    type: Literal["int", "float"] = "int"
    strategy: Literal["tensor", "channel", "group"] = "channel"
    group_size: Annotated[int, Field(ge=32, le=1024)] | None = None
    symmetric: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> WeightScheme:
        if (self.strategy == "group") != (self.group_size is not None):
            raise ValueError("group_size goes with strategy 'group', and only with it")
        if self.type == "float" and (self.num_bits != 8 or not self.symmetric):
            raise ValueError("type 'float' means FP8 (E4M3): num_bits 8, symmetric")
        return self


class ActivationScheme(_Section):
    """How the inputs of a quantized module are rounded while serving.

    Attributes:
        num_bits: Bits an element.
        type: `int`, or `float` for FP8 (E4M3).
        strategy: One scale for each `token`, or one for the whole `tensor`.
        dynamic: Whether scales are computed at run time; if not, calibration fixes them (strategy `tensor` only).
    """

    num_bits: Literal[8] = 8
    type: Literal["int", "float"] = "int"
    strategy: Literal["token", "tensor"] = "token"
    dynamic: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> ActivationScheme:
        if not self.dynamic and self.strategy == "token":
            raise ValueError(
                "a scale for each token cannot be fixed by calibration: use dynamic: true or strategy: tensor"
            )
        return self


class GptqSettings(_Section):
    """Settings of GPTQ (Frantar et al., 2023, arXiv:2210.17323).

    Attributes:
        block_size: Columns quantized in one pass.
        dampening_frac: Added to the Hessian's diagonal, as a fraction of its mean.
        actorder: `static` quantizes the columns in the order of their activations without a cost at run time; `none`
            takes them from left to right.
    """

    block_size: Annotated[int, Field(ge=1)] = 128
    dampening_frac: Annotated[float, Field(gt=0, lt=1)] = 0.01
    actorder: Literal["static", "none"] = "static"


class CalibrationSettings(_Section):
    """Which samples calibrate: composed with the seeds `first_seed` … `first_seed + samples − 1` on the training side.

    Attributes:
        source: Where samples come from.
        samples: Number of samples.
        first_seed: Seed of the first one.
    """

    source: Literal["ocr_composer"] = "ocr_composer"
    samples: Annotated[int, Field(ge=1)] = 128
    first_seed: Annotated[int, Field(ge=0)] = 0


class LayerOverride(_Section):
    r"""Another precision for some modules.

    Attributes:
        targets: Module names, or regular expressions after `re:` that must match from the start of the name
            (`re:.*layers\.0\.mlp\..*`). Modules that vLLM fuses (q, k and v; gate and up) must be named together.
        weights: Their weight scheme; null leaves them at 16 bit.
        activations: Their activation scheme; null leaves activations at 16 bit.
    """

    targets: Annotated[tuple[str, ...], Field(min_length=1)]
    weights: WeightScheme | None = None
    activations: ActivationScheme | None = None

    def matches(self, module_name: str) -> bool:
        """Whether the override names this module."""
        return any(
            re.match(target[3:], module_name) if target.startswith("re:") else target == module_name
            for target in self.targets
        )


class Recipe(_Section):
    """A quantization recipe; see the module.

    Attributes:
        name: The variant that it makes.
        description: What it is, in a sentence or two, for people who must choose.
        algorithm: `gptq`, or `round_to_nearest`, which looks at no data.
        parts: Parts of the model whose linears are quantized; all others stay at 16 bit.
        weights: Scheme of the weights.
        activations: Scheme of the activations; null leaves them at 16 bit.
        smoothing_strength: SmoothQuant's α in 0..1 (Xiao et al., 2023, arXiv:2211.10438); null smooths nothing.
        gptq: Settings of GPTQ; only with algorithm `gptq`.
        calibration: Calibration samples; null where nothing is calibrated.
        overrides: Other precisions for some modules; the first that names a module counts.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
    description: Annotated[str, Field(min_length=1)]
    algorithm: Literal["gptq", "round_to_nearest"]
    parts: Annotated[tuple[Part, ...], Field(min_length=1)] = ("language_model",)
    weights: WeightScheme
    activations: ActivationScheme | None = None
    smoothing_strength: Annotated[float, Field(gt=0, lt=1)] | None = None
    gptq: GptqSettings | None = None
    calibration: CalibrationSettings | None = None
    overrides: tuple[LayerOverride, ...] = ()

    @property
    def needs_calibration(self) -> bool:
        """Whether any step of the recipe looks at data."""
        static = any(scheme is not None and not scheme.dynamic for scheme in self._activation_schemes())
        return self.algorithm == "gptq" or self.smoothing_strength is not None or static

    def _activation_schemes(self) -> list[ActivationScheme | None]:
        return [self.activations, *(override.activations for override in self.overrides)]

    @model_validator(mode="after")
    def _consistent(self) -> Recipe:
        if self.gptq is not None and self.algorithm != "gptq":
            raise ValueError("settings under gptq need algorithm: gptq")
        if self.algorithm == "gptq" and self.weights.type == "float":
            raise ValueError("algorithm gptq is for integer weights; FP8 takes round_to_nearest")
        if self.smoothing_strength is not None and self.activations is None:
            raise ValueError("smoothing_strength moves outliers from activations to weights: it needs activations")
        if self.needs_calibration and self.calibration is None:
            raise ValueError("gptq, smoothing and static activations look at data: a section calibration is needed")
        if not self.needs_calibration and self.calibration is not None:
            raise ValueError("nothing in this recipe looks at data: remove the section calibration")
        return self


def recipe_names() -> list[str]:
    """Names of the recipes in the package, sorted."""
    return sorted(path.stem for path in RECIPE_FOLDER.glob("*.yaml"))


def load_recipe(name_or_path: str | Path) -> Recipe:
    """Reads and validates a recipe.

    Args:
        name_or_path: The name of a recipe in the package, or the path of a YAML file.

    Raises:
        UserError: If there is no such recipe, or if a key or value in it is wrong: quotes it, names the file and the
            field, and for an unknown key the nearest known one.
    """
    text = str(name_or_path)
    path = RECIPE_FOLDER / f"{text}.yaml"
    if "/" in text or text.endswith((".yaml", ".yml")):
        path = Path(text)
        if not path.is_file():
            raise UserError(f"recipe file {text!r} does not exist")
    elif not path.is_file():
        raise UserError(unknown_name_message("recipe", text, recipe_names()) + " Or give the path of a YAML file.")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(content, Mapping):
        raise UserError(f"{path}: a recipe is a mapping of keys to values, got {type(content).__name__}")
    return parse_recipe(content, where=str(path))


def parse_recipe(content: Mapping[str, Any], where: str) -> Recipe:
    """Validates the content of a recipe.

    Args:
        content: Keys and values as read from YAML.
        where: Name of the source, for messages.

    Raises:
        UserError: As `load_recipe`.
    """
    try:
        return Recipe.model_validate(dict(content))
    except ValidationError as error:
        faults = "; ".join(
            _fault_message(fault["loc"], fault["type"], fault["msg"], fault["input"]) for fault in error.errors()
        )
        raise UserError(f"{where}: {faults}") from error


def with_changes(
    recipe: Recipe, include: Sequence[str] = (), samples: int | None = None, first_seed: int | None = None
) -> Recipe:
    """A recipe changed from the command line; the checkpoint it makes records the changed one.

    Args:
        recipe: The recipe.
        include: Parts of the model to quantize besides the recipe's.
        samples: Another number of calibration samples.
        first_seed: Another first calibration seed.

    Raises:
        UserError: If a part is unknown, or calibration is changed in a recipe that does not calibrate.
    """
    content = recipe.model_dump()
    for part in include:
        if part not in PARTS:
            raise UserError(unknown_name_message("part", part, PARTS))
    content["parts"] = tuple(dict.fromkeys((*recipe.parts, *include)))
    changes = {key: value for key, value in (("samples", samples), ("first_seed", first_seed)) if value is not None}
    if changes and recipe.calibration is None:
        raise UserError(f"recipe {recipe.name!r} looks at no data, so its calibration has no {' or '.join(changes)}")
    if changes:
        content["calibration"] |= changes
    return parse_recipe(content, where=f"recipe {recipe.name}")


_SECTION_OF_KEY: dict[str, type[BaseModel]] = {
    "weights": WeightScheme,
    "activations": ActivationScheme,
    "gptq": GptqSettings,
    "calibration": CalibrationSettings,
    "overrides": LayerOverride,
}


def _fault_message(location: tuple[int | str, ...], fault_type: str, message: str, value: object) -> str:
    keys = [key for key in location if isinstance(key, str)]
    field = ".".join(str(key) for key in location) or "recipe"
    if fault_type == "extra_forbidden":
        section = _SECTION_OF_KEY[keys[-2]] if len(keys) > 1 else Recipe
        return unknown_name_message(
            f"key in {'.'.join(keys[:-1])}" if len(keys) > 1 else "key", keys[-1], list(section.model_fields)
        )
    if fault_type == "missing":
        return f"key {field!r} is missing"
    message = message.removeprefix("Value error, ")
    return f"{field}: {message}" if fault_type == "value_error" else f"{field}: {message}, got {value!r}"
