"""Lower ends of private selection: a ranking that it handles badly. Start with `worst_order.py`."""
