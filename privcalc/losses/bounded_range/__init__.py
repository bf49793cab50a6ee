"""Mechanisms of bounded range: an envelope of pairs, once and in adaptive uses.

Start with `law.py` (one use); `uses.py` has what several cost, step by step, and `uses_law.py` its
laws from above and from below, and the largest divergences.
"""
