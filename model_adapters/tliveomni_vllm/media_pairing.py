"""Which audio of a request is the sound of which video, told from the placeholders of its prompt. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MediaPairing:
    """How the audios of a request are used; every audio is used exactly once.

    Attributes:
        sounds: For each video, the index of the audio that is its sound; empty where videos are silent.
        alone: Indexes of the audios that have a placeholder of their own, in the order of the prompt.
    """

    sounds: tuple[int, ...]
    alone: tuple[int, ...]

    @property
    def interleaved(self) -> bool:
        """Whether videos are interleaved with their sound."""
        return bool(self.sounds)


def pair_media(
    prompt: Sequence[int],
    token_ids: Mapping[str, int],
    counts: Mapping[str, int],
    use_audio_in_video: bool | None = None,
) -> MediaPairing:
    """Pair audios with videos, as `TLiveOmniProcessor` does: in the order of the prompt, each video takes an audio.

    Args:
        prompt: Token ids, one placeholder a medium.
        token_ids: Placeholder of each kind: image, video, audio.
        counts: Media of each kind that came with the prompt.
        use_audio_in_video: Whether each video takes an audio as its sound; None to tell from the counts, which is never
            ambiguous: then there are as many audios more than placeholders for audio as there are videos.

    Raises:
        ValueError: Media and placeholders differ in number, so a medium would not be used, or not be there.
    """
    places = {kind: sum(token == token_id for token in prompt) for kind, token_id in token_ids.items()}
    videos, audios = places["video"], counts.get("audio", 0)
    if use_audio_in_video is None:
        use_audio_in_video = videos > 0 and audios == places["audio"] + videos
    expected = places | ({"audio": places["audio"] + videos} if use_audio_in_video else {})
    for kind, wanted in expected.items():
        if (given := counts.get(kind, 0)) != wanted:
            raise ValueError(_mismatch(kind, given, places, bool(use_audio_in_video)))
    sounds: list[int] = []
    alone: list[int] = []
    for token in prompt:
        if token == token_ids["audio"]:
            alone.append(len(sounds) + len(alone))
        elif token == token_ids["video"] and use_audio_in_video:
            sounds.append(len(sounds) + len(alone))
    return MediaPairing(tuple(sounds), tuple(alone))


def _mismatch(kind: str, given: int, places: Mapping[str, int], use_audio_in_video: bool) -> str:
    what = f"{given} {kind}(s) given, but the prompt has {places[kind]} placeholder(s) for {kind}"
    if kind != "audio":
        return f"{what}; write one for each, and nothing in place of media that are not given"
    if use_audio_in_video:
        return (
            f"{what} and {places['video']} video(s) that each take an audio as their sound (use_audio_in_video=True); "
            "give each video its sound, or leave use_audio_in_video out"
        )
    return (
        f"{what}, so audio would be left unheard or be missing; "
        "write one for each, or, where the audio is the sound of a video, set use_audio_in_video=True in "
        "mm_processor_kwargs"
    )
