"""The possible answers of the sparse vector technique, counted, in few kinds.

Each answer is bounded by one with as many, or more, "below" and "above" (`outcomes.py`). Numbers of
"below" between one and a third of it are one kind, which raises their sum by a few tenths: what an
answer costs grows slowly with that number. After BLOCKS of these the rest is a small part of all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from privcalc.numerics.rounding import UNIT

RATIO, BLOCKS = 3, 5
# What a large number is rounded up by.
UP = 1.0 + 4.0 * UNIT


class Kind(NamedTuple):
    """Answers of one kind: at most so many "below", so many "above", and how many of them."""

    below: int
    above: int
    number: float


def answer_kinds(cutoff: int, length: int) -> list[Kind]:
    """Return the possible answers to a stream, at most `length` of them, as few kinds.

    Those that end with the last query have k < c "above", and there are C(length, k). With more of
    them, or more "below", answers cost no less, as gaps may be far below or above 0.
    """
    found = stopped_kinds(cutoff, length - cutoff)
    low = 0
    while low < cutoff:
        high = min(max(low, 2 * low - 1), cutoff - 1)
        count = sum(math.comb(length, k) for k in range(low, high + 1))
        found.append(Kind(length - low, high, float(count) * UP))
        low = high + 1
    return found


def stopped_kinds(cutoff: int, most: int) -> list[Kind]:
    """Return the answers with c "above" of which the last is one, and at most so many "below".

    With j "below" there are C(j + c - 1, c - 1) of them, and up to j there are C(j + c, c).
    """
    found = []
    for turn in range(BLOCKS):
        rest = -1 if turn == BLOCKS - 1 else most // RATIO
        count = math.comb(most + cutoff, cutoff)
        count -= math.comb(rest + cutoff, cutoff) if rest >= 0 else 0
        found.append(Kind(most, cutoff, float(count) * UP))
        most = rest
        if most < 0:
            break
    return found
