"""The wrappers, one module each; importing this package registers them all, in this order."""

from importlib import import_module

MODULES = ("poisson", "without_replacement", "group", "select")

for _module in MODULES:
    import_module(f"{__name__}.{_module}")
