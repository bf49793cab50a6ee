"""The mechanisms, one module each; importing this package registers them all, in this order."""

from importlib import import_module

MODULES = ("gaussian", "laplace", "randomized_response", "pure", "approx")

for _module in MODULES:
    import_module(f"{__name__}.{_module}")
