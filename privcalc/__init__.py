"""Certified differential-privacy accounting: every number is a bracket with a proof.

    >>> import privcalc
    >>> answer = privcalc.compose("gaussian:sigma=1.1@poisson:q=256/60000@14063", delta=1e-5)
    >>> 2.38168972 < answer.epsilon.lower <= answer.epsilon.upper < 2.38168973
    True

To import this package loads nothing: what a name needs is loaded when it is first used.
"""

# Type checkers take it for true. The module `typing` takes longer to load than all that is here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from privcalc.library import (
        Bound,
        DomainError,
        FileError,
        NotCertifiedError,
        PrivcalcError,
        Result,
        Results,
        SpecError,
        UnsupportedError,
        UsageError,
        Verdict,
        calibrate,
        calibrations,
        check,
        compose,
        convert,
        from_dp_event,
        from_opacus,
        select,
        subsample,
    )
    from privcalc.version import __version__

__all__ = [
    "Bound",
    "DomainError",
    "FileError",
    "NotCertifiedError",
    "PrivcalcError",
    "Result",
    "Results",
    "SpecError",
    "UnsupportedError",
    "UsageError",
    "Verdict",
    "__version__",
    "calibrate",
    "calibrations",
    "check",
    "compose",
    "convert",
    "from_dp_event",
    "from_opacus",
    "select",
    "subsample",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'privcalc' has no attribute {name!r}")
        if name == "__version__":
            from privcalc.version import __version__

            return __version__
        from privcalc import library

        return getattr(library, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
