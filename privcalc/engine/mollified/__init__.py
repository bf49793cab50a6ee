"""The contour engine for laws whose characteristic function does not decay: a mollified payoff.

Start with `payoff.py`, which has the theorem. `blocks.py` says what is asked of a law, `laws.py`
and `edged.py` answer it; `cells.py` says which nodes matter, `sum.py` has the sums and their
certificate, `answer.py` turns a question into a bracket. `parted.py` does so where a loss is rare
and large, by a sum for each of several measures (`rare.py`); `cuts.py` chooses which losses are,
from what `cuttable.py` has tabulated.
"""
