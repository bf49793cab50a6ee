"""Trade-off functions with both ends, and what they say of attackers.

Start with `function.py`. What is asked of one ordered pair is in `ordered_pair.py`; the kinds of
pair that have better answers are in `atomic.py`, `gaussian.py`, `tails.py` and `curve.py`.
"""
