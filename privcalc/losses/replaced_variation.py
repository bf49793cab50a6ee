"""A proved bound on the variation of the tilted loss density of two opposite records.

It says how fast |phi| falls (`losses/decay.py`), as `losses/variation.py` does for other samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privcalc.numerics.rounding import MARGIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.losses.replaced_nodes import Mixtures, Part

CELLS = 400


def opposite_variation(mixtures: Mixtures, parts: Sequence[Part], exponent: float) -> float:
    """Bound the total variation of the tilted density of the loss, not yet divided by M.

    In terms of u it is g = f A^a A'^(1 - a) / (r + k r') with the shares r = (log A)' and r' of A
    and A'(-u), of which one grows and the other falls, r_u = r (1 - r):

        (log g)' = (log f)' + a r - (1 - a) k r' - s,    s = 1 - r for k = 0,
        s = (r (1 - r) - r' (1 - r')) / (r + r') = (r - r') / (r + r') - (r - r') for k = 1.

    Every term is monotone, and bounded by its values at the ends of a cell. Where the sign is
    certain the variation is the difference of the two values; elsewhere it is at most the width
    times max |(log g)'| times max g.
    """
    total = 0.0
    for part in parts:
        if not part.high > part.low:
            continue
        piece, k = part.piece, 1.0 if part.mirrored else 0.0
        a = 1.0 - exponent if part.flipped else exponent
        u = np.linspace(part.low, part.high, CELLS + 1)
        r = mixtures.share(u)
        other = k * mixtures.share(-u)
        log_g = (
            piece.constant
            + (piece.slope - 0.5 * piece.curvature * u) * u
            + a * mixtures.log_factor(u)
            + (1.0 - a) * mixtures.log_factor(-k * u)
            - np.log(r + other)
        )
        terms = [piece.slope - piece.curvature * u, a * r, (a - 1.0) * other]
        terms += [-(r - other) / (r + other), r - other] if part.mirrored else [r - 1.0]
        smallest = sum(np.minimum(term[1:], term[:-1]) for term in terms)
        largest = sum(np.maximum(term[1:], term[:-1]) for term in terms)
        steepest = np.maximum(np.abs(smallest), np.abs(largest))
        width = (part.high - part.low) / CELLS
        # Rounding may hide the sign of a sum of terms that nearly cancel.
        slack = 1e-12 * (1.0 + sum(np.abs(term[1:]) + np.abs(term[:-1]) for term in terms))
        certain = (smallest >= slack) | (largest <= -slack)
        with np.errstate(over="ignore", invalid="ignore"):
            g = np.exp(log_g)
            rise = np.abs(np.diff(g))
            wild = width * steepest * np.exp(log_g[:-1] + width * steepest)
        total += float(np.where(certain, rise, wild).sum()) + float(g[0] + g[-1])
    # 1e-9 covers the rounding of log g, whose terms stay below 1e5.
    return total * MARGIN * (1.0 + 1e-9)
