"""Laws with finitely many losses: exact rationals, and the doubles that enclose them.

Start with `atoms.py`; `profiles.py` makes laws of rationals, points of a profile or tests.
"""
