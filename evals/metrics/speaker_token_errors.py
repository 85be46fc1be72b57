"""Token errors of several speakers: cp, tcp and ORC, each the optimum over assignments of streams.

Sources: Watanabe et al., "CHiME-6 challenge" (2020) for cp; von Neumann et al., "MeetEval: a toolkit for computation of
word error rates for meeting transcription systems" (CHiME 2023) for tcp, and Sklyar et al., "Streaming multi-speaker
ASR with RNN-T" (ICASSP 2021) for ORC. Equal to meeteval 0.4.3 with the tokens as its words (`tests/evals/parity`).
Written here because meeteval's time for ORC is exponential in the speakers, without a bound, and because it is
distributed as source that needs a C++ compiler.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel, Levenshtein
from scipy.optimize import linear_sum_assignment
from tliveomni_eval.evals.record import Counts

MAX_EXACT_CELLS = 300_000
"""Cell updates up to which the exact ORC search runs."""
MAX_SEARCH_WORK = 100_000_000
"""Machine words of edit-distance work up to which the ORC local search runs."""

_Distance = Callable[[str, str], int]
_ROWS_AT_A_TIME = 64
_FORBIDDEN = 1 << 20


@dataclass(frozen=True, slots=True)
class TimedTokens:
    """What one speaker said: one segment a turn, ordered by start.

    Attributes:
        tokens: One list of tokens a segment.
        spans: `(start, end)` of each segment in seconds.
    """

    tokens: tuple[tuple[str, ...], ...]
    spans: tuple[tuple[float, float], ...]

    def flat(self) -> list[str]:
        """All tokens in order."""
        return [token for segment in self.tokens for token in segment]


@dataclass(frozen=True, slots=True)
class PermutationErrors:
    """The best one-to-one assignment of hypothesis speakers to reference speakers.

    Attributes:
        counts: Errors over reference tokens.
        assignment: `(reference index, hypothesis index)` of each matched pair.
    """

    counts: Counts
    assignment: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class OrcErrors:
    """The best assignment of reference utterances to hypothesis streams that was found.

    Attributes:
        counts: Errors over reference tokens.
        exact: Whether no assignment can do better. Otherwise the search was bounded and the errors are an upper bound.
    """

    counts: Counts
    exact: bool


def cp_errors(references: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]) -> PermutationErrors:
    """Concatenated minimum-permutation errors: each stream against at most one other.

    Args:
        references: Tokens of each reference speaker.
        hypotheses: Tokens of each hypothesis speaker.
    """
    letters: dict[str, str] = {}
    right = [_letters(tokens, letters) for tokens in references]
    read = [_letters(tokens, letters) for tokens in hypotheses]
    distances = np.array([[Levenshtein.distance(a, b) for b in read] for a in right], dtype=np.int64)
    return _best_permutation(distances, [len(text) for text in right], [len(text) for text in read])


def tcp_errors(
    references: Sequence[TimedTokens], hypotheses: Sequence[TimedTokens], collar_s: float
) -> PermutationErrors:
    """Time-constrained cp errors: only tokens that are close in time may be matched or substituted.

    As meeteval by default, a reference token gets the share of its segment that its characters have, a hypothesis
    token the centre of its share, widened by the collar on both sides.

    Args:
        references: Speakers of the reference.
        hypotheses: Speakers of the hypothesis.
        collar_s: Seconds on each side of a hypothesis token.
    """
    flat_a, flat_b = [speaker.flat() for speaker in references], [speaker.flat() for speaker in hypotheses]
    unconstrained = cp_errors(flat_a, flat_b)
    # The constraint only ever adds errors, so an optimum of cp that keeps to it is one of tcp.
    if all(_keeps_to_time(references[row], hypotheses[column], collar_s) for row, column in unconstrained.assignment):
        return unconstrained
    distances = _time_constrained_distances(references, hypotheses, collar_s)
    return _best_permutation(distances, [len(tokens) for tokens in flat_a], [len(tokens) for tokens in flat_b])


def orc_errors(
    utterances: Sequence[Sequence[str]], streams: Sequence[Sequence[str]], starts: Sequence[Sequence[int]] = ()
) -> OrcErrors:
    """Optimal-reference-combination errors: each utterance goes to the stream where it costs least, in order.

    The difference to cp is what confusing the speakers cost. Finding the optimum takes time exponential in the number
    of streams, so a local search comes first: utterances move from stream to stream while that lowers the errors. Its
    result is proven where it meets the lower bound that the tokens set regardless of order, and the exact search runs
    where it needs at most `MAX_EXACT_CELLS`.

    Args:
        utterances: Tokens of each reference utterance, ordered by start.
        streams: Tokens of each hypothesis speaker.
        starts: Assignments (the index of a stream for each utterance) from which the local search sets out; default
            one with every utterance in the first stream.
    """
    letters: dict[str, str] = {}
    right = [_letters(tokens, letters) for tokens in utterances]
    read = [_letters(tokens, letters) for tokens in streams]
    length = sum(map(len, right))
    if not read:
        return OrcErrors(Counts(length, length), exact=True)
    bound = _unordered_bound(right, read)
    search = _OrcSearch(right, read)
    errors = -1
    for start in starts or [[0] * len(right)]:
        found = search.run(list(start))
        errors = found if errors < 0 else min(errors, found)
        if errors == bound:
            break
    exact = errors == bound or len(read) == 1
    if not exact:
        cells = max(1, length) * len(read) * math.prod(float(len(text) + 1) for text in read)
        if cells <= MAX_EXACT_CELLS:
            errors, exact = _exact_orc(right, read), True
    return OrcErrors(Counts(errors, length), exact)


def _letters(tokens: Sequence[str], letters: dict[str, str]) -> str:
    """Tokens as a string of one private code point each, which rapidfuzz compares fastest."""
    return "".join(letters.setdefault(token, chr(len(letters) + 0xE000)) for token in tokens)


def _best_permutation(
    distances: NDArray[np.int64], lengths_a: Sequence[int], lengths_b: Sequence[int]
) -> PermutationErrors:
    unmatched = sum(lengths_a) + sum(lengths_b)
    pairs: tuple[tuple[int, int], ...] = ()
    saved = 0
    if lengths_a and lengths_b:
        # Matching a pair never costs more than leaving both unmatched, so a complete matching is optimal.
        gain = distances - np.add.outer(np.array(lengths_a), np.array(lengths_b))
        rows, columns = linear_sum_assignment(gain)
        saved = int(gain[rows, columns].sum())
        pairs = tuple((int(row), int(column)) for row, column in zip(rows, columns, strict=True))
    return PermutationErrors(Counts(unmatched + saved, sum(lengths_a)), pairs)


class _OrcSearch:
    """Local search over assignments of utterances to streams, within `MAX_SEARCH_WORK` for all of its runs."""

    def __init__(self, right: Sequence[str], read: Sequence[str]) -> None:
        self.right = right
        self.read = read
        total = sum(map(len, right))
        self.work_of_a_visit = sum(200 + total * len(text) // 64 for text in read)
        self.work_left = MAX_SEARCH_WORK

    def run(self, chosen: list[int]) -> int:
        """Errors of the best assignment reached from one; first with substitutions at 2, which moves more freely."""
        for distance in (Indel.distance, Levenshtein.distance):
            members = [[index for index, stream in enumerate(chosen) if stream == at] for at in range(len(self.read))]
            costs = [self._cost(distance, stream, members[stream]) for stream in range(len(self.read))]
            while self._improve(distance, chosen, members, costs) and self.work_left > 0:
                pass
        return sum(costs)

    def _cost(self, distance: _Distance, stream: int, members: list[int]) -> int:
        return distance("".join([self.right[index] for index in members]), self.read[stream])

    def _improve(self, distance: _Distance, chosen: list[int], members: list[list[int]], costs: list[int]) -> bool:
        """Visit each utterance once and move it where it lowers the costs most; whether any moved."""
        moved = False
        for index, home in enumerate(chosen):
            if self.work_left <= 0 or not self.right[index]:
                continue
            self.work_left -= self.work_of_a_visit
            without = [other for other in members[home] if other != index]
            cost_without = self._cost(distance, home, without)
            saved = costs[home] - cost_without
            best = None
            for stream in range(len(self.read)):
                if stream == home:
                    continue
                joined = sorted([*members[stream], index])
                cost_joined = self._cost(distance, stream, joined)
                if cost_joined - costs[stream] < saved:
                    saved, best = cost_joined - costs[stream], (stream, joined, cost_joined)
            if best is not None:
                stream, joined, cost_joined = best
                members[home], costs[home] = without, cost_without
                chosen[index], members[stream], costs[stream] = stream, joined, cost_joined
                moved = True
        return moved


def _unordered_bound(right: Sequence[str], read: Sequence[str]) -> int:
    """Errors that no assignment can avoid: tokens that one side has more of than the other."""
    said, written = Counter("".join(right)), Counter("".join(read))
    return max((said - written).total(), (written - said).total())


def _exact_orc(right: Sequence[str], read: Sequence[str]) -> int:
    """Dynamic programme over the utterances and one position in each stream."""
    symbols = [np.array([ord(char) for char in text], dtype=np.int64) for text in read]
    state = np.full([len(text) + 1 for text in read], _FORBIDDEN, dtype=np.int64)
    state[(0,) * len(read)] = 0
    for text in right:
        options = []
        for axis in range(len(read)):
            moved = _insertions(np.moveaxis(state, axis, -1))
            for char in text:
                substituted = moved[..., :-1] + (symbols[axis] != ord(char))
                moved = moved + 1
                np.minimum(moved[..., 1:], substituted, out=moved[..., 1:])
                moved = _insertions(moved)
            options.append(np.moveaxis(moved, -1, axis))
        state = np.minimum.reduce(options)
    for axis in range(len(read)):
        state = np.moveaxis(_insertions(np.moveaxis(state, axis, -1)), -1, axis)
    return int(state[(-1,) * len(read)])


def _insertions(costs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Let every position of the last axis be reached from an earlier one at 1 a step."""
    steps = np.arange(costs.shape[-1])
    return np.asarray(np.minimum.accumulate(costs - steps, axis=-1) + steps)


def _keeps_to_time(reference: TimedTokens, hypothesis: TimedTokens, collar_s: float) -> bool:
    """Whether rapidfuzz's optimal alignment matches and substitutes only tokens that are close in time."""
    codes: dict[str, int] = {}
    tokens_a, start_a, end_a = _timed_codes(reference, codes, centre=False)
    tokens_b, start_b, end_b = _timed_codes(hypothesis, codes, centre=True)
    near = True
    for code in Levenshtein.opcodes(tokens_a.tolist(), tokens_b.tolist()):
        if code.tag in ("equal", "replace"):
            a, b = slice(code.src_start, code.src_end), slice(code.dest_start, code.dest_end)
            near = near and bool(((start_a[a] < end_b[b] + collar_s) & (end_a[a] > start_b[b] - collar_s)).all())
    return near


def _time_constrained_distances(
    references: Sequence[TimedTokens], hypotheses: Sequence[TimedTokens], collar_s: float
) -> NDArray[np.int64]:
    """Distances of every pair of speakers, shape (references, hypotheses), in one pass over the reference tokens.

    The hypothesis speakers lie behind one another in the columns, each after a column for its beginning; the reference
    speakers are the rows of the state, the longest first, so that those still running are a prefix.
    """
    if not references or not hypotheses:
        return np.zeros((len(references), len(hypotheses)), dtype=np.int64)
    codes: dict[str, int] = {}
    read = [_timed_codes(speaker, codes, centre=True) for speaker in hypotheses]
    right = [_timed_codes(speaker, codes, centre=False) for speaker in references]
    lengths = [len(tokens) for tokens, _, _ in read]
    never = np.array([np.inf])
    symbols = np.concatenate([np.concatenate(([-1], tokens)) for tokens, _, _ in read])
    starts = np.concatenate([np.concatenate((never, start - collar_s)) for _, start, _ in read])
    ends = np.concatenate([np.concatenate((never, end + collar_s)) for _, _, end in read])
    columns = np.concatenate([np.arange(length + 1) for length in lengths])
    # Insertions run along a speaker only: each one's costs lie below those of all speakers before.
    level = np.repeat(np.arange(len(lengths), dtype=np.int32), np.array(lengths) + 1) * np.int32(_FORBIDDEN * 2)
    ramp = (columns + level).astype(np.int32)
    order = sorted(range(len(right)), key=lambda index: -len(right[index][0]))
    state = np.tile(columns, (len(right), 1)).astype(np.int32)
    longest = len(right[order[0]][0])
    still_running = [sum(len(tokens) > row for tokens, _, _ in right) for row in range(longest)]
    for block in range(0, longest, _ROWS_AT_A_TIME):
        rows = range(block, min(block + _ROWS_AT_A_TIME, longest))
        cost = np.full((len(rows), len(right), len(symbols)), _FORBIDDEN, dtype=np.int32)
        for place, index in enumerate(order):
            tokens, start, end = (part[rows.start : rows.stop, None] for part in right[index])
            near = (start < ends) & (end > starts)
            # Far apart, a substitution is a deletion and an insertion.
            cost[: len(tokens), place] = np.where(near, tokens != symbols, 2)
        cost[..., columns == 0] = _FORBIDDEN
        for row in rows:
            running = still_running[row]
            above = state[:running]
            now = above + 1
            np.minimum(now[:, 1:], above[:, :-1] + cost[row - block, :running, 1:], out=now[:, 1:])
            now -= ramp
            np.minimum.accumulate(now, axis=1, out=now)
            now += ramp
            state[:running] = now
    last = np.cumsum(np.array(lengths) + 1) - 1
    distances = np.empty((len(right), len(lengths)), dtype=np.int64)
    distances[order] = state[:, last]
    return distances


def _timed_codes(
    speaker: TimedTokens, codes: dict[str, int], *, centre: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Token codes with the start and end of each token: its share of the segment by characters, or the centre of it."""
    tokens = [codes.setdefault(token, len(codes)) for segment in speaker.tokens for token in segment]
    starts: list[NDArray[np.float64]] = [np.empty(0)]
    ends: list[NDArray[np.float64]] = [np.empty(0)]
    for segment, (start, end) in zip(speaker.tokens, speaker.spans, strict=True):
        if segment:
            positions = np.cumsum([0, *map(len, segment)])
            edges = start + (end - start) / positions[-1] * positions
            centres = (edges[:-1] + edges[1:]) / 2
            starts.append(centres if centre else edges[:-1])
            ends.append(centres if centre else edges[1:])
    return np.array(tokens, dtype=np.int64), np.concatenate(starts), np.concatenate(ends)
