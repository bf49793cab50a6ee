"""Certified differential-privacy accounting: every number is a bracket with a proof.

    >>> import privcalc
    >>> answer = privcalc.compose("gaussian:sigma=1.1@poisson:q=256/60000@14063", delta=1e-5)
    >>> 2.38168972 < answer.epsilon.lower <= answer.epsilon.upper < 2.38168973
    True

To import this package loads nothing: what a name needs is loaded when it is first used. Types are
in `__init__.pyi`.
"""

# Where the names are that are no commands.
_MODULES = {
    "version": ("__version__",),
    "bounds": ("Bound", "Verdict"),
    "errors": (
        *("DomainError", "FileError", "NotCertifiedError", "PrivcalcError", "SpecError"),
        *("UnsupportedError", "UsageError"),
    ),
    "commands.result": ("Result", "Results"),
    "commands.calibrate": ("calibrations",),
    "commands.check": ("check",),
    "commands.recorded": ("from_dp_event", "from_opacus"),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"privcalc.{module}"), name)
    if name == "__all__" or not name.startswith("_"):
        from privcalc.commands.command import COMMANDS, load

        if name in COMMANDS:
            return load(name).public
        if name == "__all__":
            return sorted((*COMMANDS, *(each for names in _MODULES.values() for each in names)))
    raise AttributeError(f"module 'privcalc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
