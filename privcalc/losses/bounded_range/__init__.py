"""Mechanisms of bounded range: an envelope of pairs, once and in adaptive uses.

Start with `law.py` (one use); `uses_law.py` has the law of several, `renyi.py` the largest
divergences.
"""
