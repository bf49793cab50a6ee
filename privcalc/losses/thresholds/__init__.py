"""Noisy answers that meet a threshold: the sparse vector technique, keys, tests of a count.

The sparse vector technique tells which of a stream of noisy answers are above a noisy threshold
(`sparse_vector_bounds.py` has the notation). `release.py` has keys that are published where their
count is above a threshold, and `sampled_counts.py` those of a sample: a new key, which only one of
two neighbours has, is a data set of its own. `screening.py` has a noisy test whether a count
reaches a threshold.
"""
