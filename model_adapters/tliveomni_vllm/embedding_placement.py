"""Embeddings of media in the place of their placeholders, in a step of the engine. Pure but for torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad


def place_embeddings(
    input_ids: Tensor,
    is_multimodal: Tensor,
    embeddings: Sequence[Tensor],
    modalities: Sequence[str],
    token_ids: Mapping[str, int],
    width: int,
    interleave: bool = True,
) -> Tensor:
    """Put each embedding where it belongs.

    Args:
        input_ids: Tokens of the step, (tokens).
        is_multimodal: Where embeddings belong, (tokens).
        embeddings: Of each medium the part that falls into the step, in the order of the prompts, (tokens of it, at
            most `width`); narrower ones have fewer DeepStack levels, and the missing ones are zero.
        modalities: Kind of each.
        token_ids: Placeholder of each kind.
        width: Of the result: hidden size times one and the DeepStack levels.
        interleave: Whether each kind goes to placeholders of its own; else all are placed one after the other, which is
            what vLLM does by default, and puts the sound of a video where its frames belong.

    Returns:
        (tokens, width), zero where no medium stands.

    Raises:
        ValueError: Embeddings and places differ in number, of any kind, or there is an embedding of an unknown kind.
    """
    mask = is_multimodal.to(input_ids.device)
    dtype, device = embeddings[0].dtype, embeddings[0].device
    placed = torch.zeros((input_ids.shape[0], width), dtype=dtype, device=device)
    wide = [pad(embedding, (0, width - embedding.shape[-1])) for embedding in embeddings]
    if not interleave:
        _fill(placed, mask, wide, "media")
        return placed
    if unknown := set(modalities) - set(token_ids):
        raise ValueError(f"embeddings of {', '.join(sorted(unknown))}, which TLiveOmni has no placeholder for")
    for kind, token_id in token_ids.items():
        of_kind = [embedding for embedding, modality in zip(wide, modalities, strict=True) if modality == kind]
        _fill(placed, mask & (input_ids == token_id), of_kind, kind)
    return placed


def _fill(placed: Tensor, mask: Tensor, embeddings: Sequence[Tensor], kind: str) -> None:
    places, given = int(mask.sum()), sum(embedding.shape[0] for embedding in embeddings)
    if places != given:
        raise ValueError(f"{given} embeddings of {kind} for {places} places")
    if embeddings:
        placed[mask] = torch.cat(list(embeddings))
