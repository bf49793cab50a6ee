"""The mechanisms, one module each; importing this package registers them all, in this order."""

from importlib import import_module

MODULES = (
    "gaussian",
    "laplace",
    "discrete_gaussian",
    "discrete_laplace",
    "staircase",
    "randomized_response",
    "exponential",
    "noisy_max",
    "pure",
    "approx",
    "gdp",
    "zcdp",
    "rdp",
    "profile",
    "pmf",
    "gaussian_pair",
    "bernoulli_pair",
)

for _module in MODULES:
    import_module(f"{__name__}.{_module}")
