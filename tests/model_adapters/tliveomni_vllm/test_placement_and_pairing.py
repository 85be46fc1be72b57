"""Which audio belongs to which video, and where embeddings go."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tliveomni_eval.model_adapters.tliveomni_vllm.embedding_placement import place_embeddings
from tliveomni_eval.model_adapters.tliveomni_vllm.media_pairing import pair_media

IDS = {"image": 1, "video": 2, "audio": 3}
KINDS = {token_id: kind for kind, token_id in IDS.items()}


def counts(prompt: list[int], sounds: int = 0) -> dict[str, int]:
    found = {kind: prompt.count(token_id) for kind, token_id in IDS.items()}
    return found | {"audio": found["audio"] + sounds}


def test_audios_are_taken_in_the_order_of_the_prompt() -> None:
    pairing = pair_media([9, 3, 2, 1, 3, 2, 9], IDS, {"image": 1, "video": 2, "audio": 4}, True)
    assert (pairing.sounds, pairing.alone) == ((1, 3), (0, 2))
    assert pair_media([3, 2], IDS, {"video": 1, "audio": 1}, False).sounds == ()


@given(st.lists(st.sampled_from([1, 2, 3, 9]), max_size=12), st.booleans())
@settings(max_examples=60)
def test_every_audio_is_used_once_and_the_counts_tell_which_way(prompt: list[int], with_sound: bool) -> None:
    given_media = counts(prompt, prompt.count(2) if with_sound else 0)
    pairing = pair_media(prompt, IDS, given_media, with_sound)
    assert sorted([*pairing.sounds, *pairing.alone]) == list(range(given_media["audio"]))
    assert pair_media(prompt, IDS, given_media) == pairing


@pytest.mark.parametrize(
    ("prompt", "media", "in_video", "says"),
    [
        ([9], {"audio": 1}, False, "1 audio.*0 placeholder.*unheard"),
        ([2], {"video": 1, "audio": 1}, False, "use_audio_in_video=True"),
        ([2, 3], {"video": 1, "audio": 1}, True, r"1 audio.*1 video\(s\) that each take"),
        ([2], {"video": 1}, True, "0 audio.*each take"),
        ([1], {}, False, "0 image.*1 placeholder"),
        ([9], {"video": 2}, False, "2 video.*0 placeholder"),
        ([2, 2], {"video": 2, "audio": 1}, None, "1 audio"),
    ],
)
def test_a_medium_without_a_place_or_a_place_without_a_medium_is_an_error(
    prompt: list[int], media: dict[str, int], in_video: bool | None, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        pair_media(prompt, IDS, media, in_video)


def rows(*values: int, width: int = 2) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32).unsqueeze(1).expand(-1, width).contiguous()


def test_each_kind_goes_to_its_own_placeholders() -> None:
    # V A V A of one video, and an image; token 3 in the text, which is no medium, stays empty.
    tokens = torch.tensor([9, 2, 3, 3, 2, 3, 9, 1, 3])
    media = torch.tensor([False, True, True, True, True, True, False, True, False])
    embeddings = [rows(20, 21), rows(30, 31, 32, width=4), rows(10)]
    placed = place_embeddings(tokens, media, embeddings, ["video", "audio", "image"], IDS, 4)
    assert placed[:, 0].tolist() == [0, 20, 30, 31, 21, 32, 0, 10, 0]
    # What has fewer levels is zero in the others.
    assert placed[:, 3].tolist() == [0, 0, 30, 31, 0, 32, 0, 0, 0]
    contiguous = place_embeddings(tokens, media, embeddings, (), IDS, 4, interleave=False)
    assert contiguous[:, 0].tolist() == [0, 20, 21, 30, 31, 32, 0, 10, 0]


def test_embeddings_and_places_that_differ_in_number_are_an_error() -> None:
    tokens, media = torch.tensor([2, 3]), torch.tensor([True, True])
    with pytest.raises(ValueError, match="2 embeddings of video for 1 places"):
        place_embeddings(tokens, media, [rows(1, 2)], ["video"], IDS, 2)
    with pytest.raises(ValueError, match="smell"):
        place_embeddings(tokens, media, [rows(1, 2)], ["smell"], IDS, 2)
