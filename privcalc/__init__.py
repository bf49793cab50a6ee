"""Certified differential-privacy accounting: every number is a bracket with a proof.

    >>> import privcalc
    >>> answer = privcalc.compose("gaussian:sigma=1.1@poisson:q=256/60000@14063", delta=1e-5)
    >>> 2.38168972 < answer.epsilon.lower <= answer.epsilon.upper < 2.38168973
    True

To import this package loads nothing: what a name needs is loaded when it is first used. Types are
in `__init__.pyi`.
"""

_COMMANDS = ("calibrate", "compose", "convert", "select", "subsample")
# Where the other names are.
_MODULES = {
    "version": ("__version__",),
    "bounds": ("Bound", "Verdict"),
    "errors": (
        "DomainError",
        "FileError",
        "NotCertifiedError",
        "PrivcalcError",
        "SpecError",
        "UnsupportedError",
        "UsageError",
    ),
    "commands.result": ("Result", "Results"),
    "commands.calibrate": ("calibrations",),
    "commands.check": ("check",),
    "commands.recorded": ("from_dp_event", "from_opacus"),
}

__all__ = [*_COMMANDS, *(name for names in _MODULES.values() for name in names)]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _COMMANDS:
        from privcalc.commands.command import load

        return load(name).public
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"privcalc.{module}"), name)
    raise AttributeError(f"module 'privcalc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
