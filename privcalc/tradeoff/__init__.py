"""Trade-off functions with both ends, and what they say of attackers: see `function.py`."""
