"""Positions in time, height and width, against a calculation that knows only the rule."""

import pytest
import torch
from media_prompts import KINDS, VIDEO, chat, frames, inputs_of, metadata, sound
from tliveomni_eval.model_adapters.tliveomni.audio_lengths import tokens_of_samples

TWELVE_MINUTES = 720
CONTEXT_TOKENS = 131_072


def positions_by_rule(ids, config, image_grids, frame_grids):
    """Text and audio step by one; a grid spreads from where it begins, and its longer side leads on."""
    grids = {config.image_token_id: list(image_grids), config.video_token_id: list(frame_grids)}
    positions, at, index = [], 0, 0
    while index < len(ids):
        if ids[index] not in grids:
            positions.append((at, at, at))
            at, index = at + 1, index + 1
            continue
        height, width = grids[ids[index]].pop(0)
        positions += [(at, at + row, at + column) for row in range(height) for column in range(width)]
        at, index = at + max(height, width), index + height * width
    assert not any(grids.values())
    return positions


def _merged(grid, groups=1):
    return [(int(height) // 2, int(width) // 2) for _, height, width in grid for _ in range(groups)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "video" in kind or "image" in kind or kind == "everything"])
def test_positions_follow_the_rule_wherever_audio_stands(processor, tiny_model, kind):
    inputs = inputs_of(processor, kind)
    ids = inputs["input_ids"][0].tolist()
    image_grid, video_grid = inputs.get("image_grid_thw"), inputs.get("video_grid_thw")
    expected = positions_by_rule(
        ids,
        tiny_model.config,
        _merged(image_grid) if image_grid is not None else [],
        _merged(video_grid, int(video_grid[0, 0])) if video_grid is not None else [],
    )
    positions, delta = tiny_model.model.get_rope_index(
        inputs["input_ids"],
        mm_token_type_ids=inputs["mm_token_type_ids"],
        image_grid_thw=image_grid,
        video_grid_thw=video_grid,
    )
    assert positions[:, 0].T.tolist() == [list(position) for position in expected]
    assert int(delta) == max(map(max, expected)) + 1 - len(ids)


def test_positions_need_the_kinds_of_the_tokens(tiny_model):
    with pytest.raises(ValueError, match="mm_token_type_ids is missing"):
        tiny_model.model.get_rope_index(torch.zeros(1, 3, dtype=torch.long))


def test_twelve_minutes_with_sound_fit_the_context(processor, tiny_model):
    # 640 × 352 pixels a frame are 20 × 11 tokens; one frame a second, two frames a group.
    rows, columns, groups = 11, 20, TWELVE_MINUTES // 2
    video = {
        "video_grid_thw": torch.tensor([[groups, 2 * rows, 2 * columns]]),
        "video_metadata": [metadata(TWELVE_MINUTES)],
    }
    heard = tokens_of_samples(16_000 * TWELVE_MINUTES)
    assert heard == 13 * TWELVE_MINUTES
    expansion = processor.replace_video_with_audio_token(video, 0, heard)
    text = chat(VIDEO.replace(processor.video_token, expansion) + "什么时候开始讲这个商品")
    ids = processor.tokenizer(text)["input_ids"]
    assert ids.count(processor.video_token_id) == groups * rows * columns
    assert ids.count(processor.audio_token_id) == heard
    assert ids.count(processor.audio_start_token_id) == groups
    assert 88_000 < len(ids) < CONTEXT_TOKENS

    types = torch.tensor(processor.create_mm_token_type_ids([ids]))
    positions, delta = tiny_model.model.get_rope_index(
        torch.tensor([ids]), mm_token_type_ids=types, video_grid_thw=video["video_grid_thw"]
    )
    expected = positions_by_rule(ids, tiny_model.config, [], [(rows, columns)] * groups)
    assert positions[:, 0].T.tolist() == [list(position) for position in expected]
    # A frame group takes as many positions as its longer side, not as it has tokens.
    assert int(delta) == -groups * (rows * columns - columns)


def test_twelve_minutes_of_frames_and_sound_go_through_the_processor(processor):
    inputs = processor(
        text=chat(VIDEO),
        videos=[frames(TWELVE_MINUTES, height=32, width=64)],
        video_metadata=[metadata(TWELVE_MINUTES)],
        audio=[sound(16_000 * TWELVE_MINUTES)],
        use_audio_in_video=True,
        do_sample_frames=False,
        size={"shortest_edge": 32 * 32, "longest_edge": 10**9},
    )
    ids = inputs["input_ids"][0]
    assert list(inputs["video_grid_thw"][0]) == [360, 2, 4]
    assert ids.count(processor.video_token_id) == 360 * 2
    assert ids.count(processor.audio_token_id) == 13 * TWELVE_MINUTES
    assert ids.count(processor.audio_start_token_id) == 360
