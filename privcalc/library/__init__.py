"""What `import privcalc` offers: the commands as functions, their answers and their errors."""

from privcalc.bounds import Bound, Verdict
from privcalc.errors import (
    DomainError,
    FileError,
    NotCertifiedError,
    PrivcalcError,
    SpecError,
    UnsupportedError,
    UsageError,
)
from privcalc.library.ask import calibrate, calibrations, check, compose, convert, select, subsample
from privcalc.library.given import from_dp_event, from_opacus
from privcalc.library.result import Result, Results

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
