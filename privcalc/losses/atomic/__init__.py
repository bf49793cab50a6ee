"""Laws with finitely many losses: exact rationals, and the doubles that enclose them.

Start with `atoms.py`; `exact.py` makes laws of rationals, `profiles.py` of points of a profile or
of tests, `power.py` those of groups.
"""
