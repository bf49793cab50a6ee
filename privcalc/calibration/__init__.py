"""The search for the value of a hole: what it aims at, which values it may take, where it begins.

Start with `search.py`. The entry function is `accounting/calibrate.py`; `sweep.py` asks it many
times.
"""
