"""A noisy test whether a count reaches a threshold: the worst count at every test and order.

Start with `law.py`, which has the theorem.
"""
