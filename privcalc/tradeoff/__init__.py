"""Trade-off functions with both ends, and what they say of attackers.

Start with `function.py`. What is asked of one ordered pair is in `ordered_pair.py`, how both ends
are found of any pair in `pair_solver.py`; the kinds of pair that have better answers are in
`atomic.py`, `gaussian.py` and `tails.py`. The mu of Gaussian differential privacy is in `mu.py`.
"""
