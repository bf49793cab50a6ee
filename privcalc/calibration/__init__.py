"""The search for the value of a hole; the entry function is `accounting/calibrate.py`."""
