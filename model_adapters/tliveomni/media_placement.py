"""Features of images, videos and audios in the place of their placeholders, and their DeepStack levels with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class MediaFeatures:
    """What the tokens of one kind of media in a batch become, in the order of their placeholders.

    Attributes:
        token_id: Placeholder of the kind.
        embeddings: What takes the place of the placeholders' embeddings, (tokens, hidden).
        levels: What is added to the output of language layer 0, 1, …; each (tokens, hidden).
    """

    token_id: int
    embeddings: Tensor
    levels: tuple[Tensor, ...]


def place_media(
    input_ids: Tensor, embeddings: Tensor, media: Sequence[MediaFeatures]
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Put features in the place of their placeholders, wherever these stand.

    Args:
        input_ids: (batch, length).
        embeddings: Of `input_ids`, (batch, length, hidden).
        media: Features of each kind.

    Returns:
        The embeddings with the features in place; where media stand, (batch, length); and what to add to the output of
        language layer 0, 1, … there, each (media tokens, hidden), zero for a kind that has fewer levels.

    Raises:
        ValueError: The placeholders of a kind are not as many as its features.
    """
    everywhere = torch.zeros_like(input_ids, dtype=torch.bool)
    masks = []
    for features in media:
        mask = input_ids == features.token_id
        placeholders, given = int(mask.sum()), features.embeddings.shape[0]
        if placeholders != given:
            raise ValueError(
                f"{placeholders} placeholders with token id {features.token_id}, but features of {given} tokens; "
                "the prompt must be the one the processor made for these media"
            )
        embeddings = embeddings.masked_scatter(
            mask.unsqueeze(-1), features.embeddings.to(embeddings.device, embeddings.dtype)
        )
        everywhere = everywhere | mask
        masks.append(mask)
    count = max(len(features.levels) for features in media)
    levels = [embeddings.new_zeros(int(everywhere.sum()), embeddings.shape[-1]) for _ in range(count)]
    for features, mask in zip(media, masks, strict=True):
        among_media = mask[everywhere].unsqueeze(-1)
        for rank, level in enumerate(features.levels):
            levels[rank] = levels[rank].masked_scatter(among_media, level.to(embeddings.device, embeddings.dtype))
    return embeddings, everywhere, levels
