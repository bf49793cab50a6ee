"""The finite engine: exact sums over the outcomes of laws with finitely many values.

Start with `outcomes.py`; `lattice_sum.py` composes one law with itself. `listed.py` is the source
of everything that is a list of losses, with `tail_sums.py` for many epsilons in one pass.
"""
