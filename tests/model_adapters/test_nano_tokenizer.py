"""The tokenizer: known characters are one token, everything else is bytes, nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tliveomni_eval.model_adapters.nano import ocr_source
from tliveomni_eval.model_adapters.nano.build_tokenizer import (
    SPECIAL_TOKENS,
    VOCABULARY_MULTIPLE,
    build_tokenizer,
    default_tokenizer,
    embedding_rows,
    run_tokenizer,
    special_token_ids,
)
from tliveomni_eval.model_adapters.nano.embedded_checkpoints import checkpoint_path
from tokenizers import Tokenizer
from transformers import AutoTokenizer

SMALL = build_tokenizer("价格￥", ["Read the price 读出图中的价格"])


def pieces(text, tokenizer=SMALL):
    encoded = tokenizer.encode(text, add_special_tokens=False)
    return [tokenizer.decode([token], skip_special_tokens=False) for token in encoded.ids]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_text_round_trips(text):
    assert SMALL.decode(SMALL.encode(text, add_special_tokens=False).ids, skip_special_tokens=False) == text


def test_known_characters_and_digits_are_one_token_each():
    assert pieces("价格￥19.90") == ["价", "格", "￥", "1", "9", ".", "9", "0"]


def test_unknown_characters_are_bytes():
    assert len(SMALL.encode("券").ids) == 3


def test_prompt_words_and_phrases_are_one_token_and_no_part_of_them_is():
    assert pieces("Read the price") == ["Read", " the", " price"]
    assert pieces("读出图中的价格") == ["读出图中的价格"]
    assert pieces("pric") == list("pric")


def test_table_rulings_are_one_token():
    assert pieces("| 价 | 1 |\n| --- | --- |") == ["| ", "价", " | ", "1", " |\n| ", "---", " | ", "---", " |"]


def test_special_tokens_are_found_in_text():
    ids = special_token_ids(SMALL)
    assert len(set(ids.values())) == len(SPECIAL_TOKENS)
    assert SMALL.encode("<|im_start|>user").ids[0] == ids["<|im_start|>"]


def test_ids_depend_only_on_the_arguments():
    assert build_tokenizer("格价￥", ["Read the price 读出图中的价格"]).get_vocab() == SMALL.get_vocab()


def test_embedding_rows_are_aligned():
    assert embedding_rows(SMALL) % VOCABULARY_MULTIPLE == 0
    assert 0 <= embedding_rows(SMALL) - SMALL.get_vocab_size() < VOCABULARY_MULTIPLE


def test_alphabet_entries_must_be_characters():
    with pytest.raises(ValueError, match="'价格'"):
        build_tokenizer(["价格"], [])


def test_a_run_without_its_tokenizer_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json"):
        run_tokenizer(tmp_path)


def test_the_published_tokenizer_is_what_the_generator_needs():
    published = Tokenizer.from_file(str(checkpoint_path("bf16") / "tokenizer.json"))
    assert all(
        len(published.encode(character, add_special_tokens=False).ids) == 1 for character in ocr_source.alphabet()
    )
    prompt = ocr_source.prompts()[0]
    assert published.encode(prompt).ids == default_tokenizer().encode(prompt).ids


def test_the_chat_template_keeps_the_order_of_parts_and_messages():
    tokenizer = AutoTokenizer.from_pretrained(checkpoint_path("bf16"))
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "one"}, {"type": "video"}]},
        {"role": "assistant", "content": "two"},
    ]
    assert tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>one"
        "<|vision_start|><|video_pad|><|vision_end|><|im_end|>\n"
        "<|im_start|>assistant\ntwo<|im_end|>\n<|im_start|>assistant\n"
    )
