"""Report noisy max: what bounds every choice of one out of many noisy scores.

Start with `law.py`; `tests.py` has the data sets that attain the lower ends.
"""
