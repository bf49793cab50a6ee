"""The choice of one out of many: mechanisms of bounded range, and report noisy max.

`bounded_range.py` is the envelope of all mechanisms of a range, once; `range_uses.py` has what
several adaptive uses cost, step by step, `range_laws.py` their laws from above and from below, and
the largest divergences. `noisy_max.py` has Gaussian noise, and tests that attain lower ends;
`noisy_max_laplace.py` has Laplace noise.
"""
