"""The lean forward pass against transformers' modules, in float32."""

import numpy as np
import pytest
import torch
from PIL import Image
from tliveomni_eval.model_adapters.nano import ocr_source
from tliveomni_eval.model_adapters.nano.architecture import NanoDimensions
from tliveomni_eval.model_adapters.nano.build_tokenizer import default_tokenizer
from tliveomni_eval.model_adapters.nano.export import export_checkpoint, untrained_model
from tliveomni_eval.model_adapters.nano.lean_forward import text_forward
from tliveomni_eval.model_adapters.nano.lean_vision import vision_forward
from tliveomni_eval.model_adapters.nano.prompt_encoding import PromptEncoder
from tliveomni_eval.model_adapters.nano.prompt_shape import prompt_shape

SMALL = NanoDimensions(
    hidden_size=64,
    num_layers=3,
    num_heads=4,
    num_key_value_heads=2,
    head_dim=32,
    mrope_section=(6, 5, 5),
    intermediate_size=128,
    vision_hidden_size=64,
    vision_depth=3,
    vision_num_heads=2,
    vision_intermediate_size=96,
    vision_position_embeddings=49,
    deepstack_visual_indexes=(0, 1),
)


@pytest.fixture(scope="module")
def tokenizer():
    return default_tokenizer()


@pytest.fixture(scope="module")
def model(tokenizer):
    model = untrained_model(SMALL, tokenizer, seed=3)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        # Weights large enough that a wrong position or a swapped axis cannot hide in the tolerance.
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return model.eval()


@pytest.fixture(scope="module")
def processor(model, tokenizer, tmp_path_factory):
    from transformers import AutoProcessor

    folder = tmp_path_factory.mktemp("checkpoint")
    export_checkpoint(model, tokenizer, folder)
    return AutoProcessor.from_pretrained(folder)


@pytest.mark.parametrize("size", [(320, 192), (448, 256)])
def test_logits_equal_transformers(model, tokenizer, processor, size):
    prompt, answer = ocr_source.prompts()[0], "¥19.90"
    pixels = np.random.default_rng(size[0]).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": prompt}]}]
    text = processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    inputs = processor(text=[text + answer + "<|im_end|>"], images=[Image.fromarray(pixels)], return_tensors="pt")

    encoder = PromptEncoder(tokenizer)
    tail = encoder.encode(prompt, answer)
    prefix = encoder.prefix_ids
    image_tokens = size[0] * size[1] // 1024
    image_id = tokenizer.token_to_id("<|image_pad|>")
    assert inputs["input_ids"][0].tolist() == [*prefix, *[image_id] * image_tokens, *tail.ids]

    with torch.no_grad():
        expected = model(**inputs).logits[0, -len(tail.ids) :]
        shape = prompt_shape(model.config, size, len(prefix), len(tail.ids) + 5)
        weights = dict(model.named_parameters())
        vision = vision_forward(weights, model.config, shape, torch.from_numpy(pixels)[None])
        got = text_forward(
            weights,
            model.config,
            shape,
            torch.tensor(prefix),
            vision,
            torch.tensor(tail.padded(len(tail.ids) + 5))[None].long(),
        )[0, : len(tail.ids)]
    assert expected.abs().max() > 0.1
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_image_side_must_be_a_multiple_of_32(model):
    with pytest.raises(ValueError, match="330 × 192"):
        prompt_shape(model.config, (330, 192), 4, 8)
