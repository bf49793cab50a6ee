"""The choice of one out of many: mechanisms of bounded range, and report noisy max.

`bounded_range.py` is the envelope of all mechanisms of a range, once; `range_uses.py` has what
several adaptive uses cost, step by step, `range_laws.py` their laws from above and from below, and
the largest divergences. `noisy_max.py` has the theorem on Gaussian noise and the law of its bounds,
`noisy_max_laplace.py` Laplace noise, and `noisy_max_tests.py` the data sets that attain lower ends.
"""
