"""Poisson sampling where a record is replaced: two opposite records, one pair for all mechanisms.

Start with `pair.py`, which has the proof; the other files have the law of each kind of noise.
"""
