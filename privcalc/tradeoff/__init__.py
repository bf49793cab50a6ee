"""Trade-off functions with both ends, and what they say of attackers.

Start with `function.py`. What is asked of one ordered pair is in `ordered_pair.py`, how both ends
are found in `pair_solver.py`; an envelope's members are tested in `atomic.py`. The mu of Gaussian
differential privacy is in `mu.py`.
"""
