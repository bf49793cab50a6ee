"""Shuffled batches of Gaussian noise: a permuted data set in t batches of b records.

Start with `attack.py`, what one pair of data sets costs, and `swap.py`, what none exceeds;
`cells.py` is one slot, `glue.py` the largest law of its likelihood ratios, `caps.py` how uneven
they are weighed, `sums.py` sums of many on a lattice, and `laws.py` makes laws of all that.

Until now such batches were between random allocation, as if the other records were zero, and no
sampling (Chua et al. 2024, arXiv:2411.04205). New, as far as we know, are the pair in which the
others pull the other way, with the exact profile by one convolution, and an upper end below no
sampling that holds for adaptive steps, by a swap from the first slot.
"""
