import numpy as np
import pytest
from media_prompts import AUDIO, IMAGE, VIDEO, chat, frames, image, inputs_of, metadata, sound
from tliveomni_eval.model_adapters.tliveomni.audio_lengths import tokens_of_samples


def _ids(processor, text):
    return processor.tokenizer(text)["input_ids"]


def _counts(processor, ids):
    ids = list(ids)
    return tuple(ids.count(getattr(processor, f"{kind}_token_id")) for kind in ("image", "video", "audio"))


def test_local_folder_loads_the_processor_without_remote_code(processor):
    assert type(processor).__name__ == "TLiveOmniProcessor"
    assert type(processor.video_processor).__name__ == "Qwen3VLVideoProcessor"


def test_images_alone_are_what_qwen3_vl_makes_of_them(processor):
    from transformers import Qwen3VLProcessor

    qwen = Qwen3VLProcessor(processor.image_processor, processor.tokenizer, processor.video_processor)
    arguments = {"text": [chat(f"{IMAGE}什么{IMAGE}")], "images": [image(), image(1, 128, 64)], "return_tensors": "np"}
    ours, theirs = processor(**arguments), qwen(**arguments)
    assert set(ours) == set(theirs)
    for name in theirs:
        np.testing.assert_array_equal(ours[name], theirs[name])


def test_silent_videos_are_what_qwen3_vl_makes_of_them(processor):
    from transformers import Qwen3VLProcessor

    qwen = Qwen3VLProcessor(processor.image_processor, processor.tokenizer, processor.video_processor)
    arguments = {"text": [chat(f"{VIDEO}什么")], "videos": [frames(5)], "do_sample_frames": False}
    ours = processor(**arguments, video_metadata=[metadata(5)], return_tensors="np")
    theirs = qwen(**arguments, video_metadata=[metadata(5)], return_tensors="np")
    assert set(ours) == set(theirs)
    for name in theirs:
        np.testing.assert_array_equal(ours[name], theirs[name])


def test_video_and_its_sound_alternate_by_time(processor):
    inputs = inputs_of(processor, "video_with_audio")
    v, a = processor.video_token * 6, processor.audio_token
    # 5 frames are 3 groups: 0-1 s, 2-3 s and, repeated, 4 s; 5 s of sound are 65 tokens.
    groups = [("0.5", 33), ("2.5", 19), ("4.0", 13)]
    expected = "".join(
        f"<{time} seconds><|vision_start|>{v}<|vision_end|><|audio_start|>{a * count}<|audio_end|>"
        for time, count in groups
    )
    text = chat(f"<|vision_start|>{expected}<|vision_end|>这是什么")
    assert inputs["input_ids"][0].tolist() == _ids(processor, text)


def test_audio_with_a_place_of_its_own_stands_beside_a_video_with_sound(processor):
    inputs = inputs_of(processor, "everything")
    ids = inputs["input_ids"][0].tolist()
    lengths = [tokens_of_samples(3_000), tokens_of_samples(70_000), tokens_of_samples(12_345)]
    assert _counts(processor, ids) == (6, 18, sum(lengths))
    first = ids.index(processor.audio_start_token_id)
    assert ids[first + 1 : first + 2 + lengths[0]] == [
        *[processor.audio_token_id] * lengths[0],
        processor.audio_end_token_id,
    ]
    assert inputs["feature_attention_mask"].sum(-1).tolist() == [3_000 // 160, 70_000 // 160, 12_345 // 160]


def test_audio_tokens_are_marked_as_neither_image_nor_video(processor):
    inputs = inputs_of(processor, "everything")
    ids, types = inputs["input_ids"][0], inputs["mm_token_type_ids"][0]
    for kind, token_type in (("image", 1), ("video", 2), ("audio", 3)):
        assert (types[ids == getattr(processor, f"{kind}_token_id")] == token_type).all()
    assert int((types > 0).sum()) == sum(_counts(processor, ids.tolist()))


def test_chat_template_writes_every_kind_of_media(processor):
    content = [{"type": kind} for kind in ("image", "video", "audio")] + [{"type": "text", "text": "什么"}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    assert text == chat(f"{IMAGE}{VIDEO}{AUDIO}什么")


def test_saved_processor_gives_the_same_inputs(processor, tmp_path):
    from transformers import AutoProcessor

    processor.save_pretrained(tmp_path)
    again = inputs_of(AutoProcessor.from_pretrained(tmp_path), "everything")
    for name, values in inputs_of(processor, "everything").items():
        np.testing.assert_array_equal(np.asarray(again[name]), np.asarray(values))


@pytest.mark.parametrize(
    ("text", "media", "message"),
    [
        (AUDIO, {}, "placeholder for one more audio than was given"),
        ("a", {"audio": [sound(1600)]}, "1 audio more than the text has places for.*audio_pad"),
        (IMAGE, {"images": [image(), image()]}, "1 image more than"),
        (IMAGE + IMAGE, {"images": [image()]}, "one more image"),
        (VIDEO, {"videos": [frames(2)], "use_audio_in_video": True}, r"video with sound \(use_audio_in_video\)"),
        (AUDIO, {"audio": [np.zeros((2, 1600), np.float32)[None]]}, "mono"),
        (None, {}, "text is missing"),
    ],
)
def test_text_and_media_that_do_not_fit_are_an_error(processor, text, media, message):
    if "videos" in media:
        media = {**media, "video_metadata": [metadata(2)], "do_sample_frames": False}
    with pytest.raises(ValueError, match=message):
        processor(text=text, **media)


def test_sound_cannot_be_interleaved_where_the_times_of_frames_are_not_known(processor):
    with pytest.raises(ValueError, match="video 0: the times of its frames are not known"):
        processor(text=VIDEO, videos=[frames(2)], audio=[sound(1600)], use_audio_in_video=True, do_sample_frames=False)


def test_tokenizer_without_the_tokens_of_audio_is_an_error(processor):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    bare = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]")))
    with pytest.raises(ValueError, match=r"the tokenizer has no token '<\|image_pad\|>'"):
        type(processor)(processor.image_processor, processor.feature_extractor, bare, processor.video_processor)
