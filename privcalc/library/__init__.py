"""What `import privcalc` offers: the commands as functions, their answers and their errors."""

from privcalc.bounds import Bound, Verdict
from privcalc.errors import (
    DomainError,
    NotCertifiedError,
    PrivcalcError,
    SpecError,
    UnsupportedError,
    UsageError,
)
from privcalc.library.ask import calibrate, calibrations, compose, convert, select, subsample
from privcalc.library.given import from_dp_event, from_opacus
from privcalc.library.result import Result

__all__ = [
    "Bound",
    "DomainError",
    "NotCertifiedError",
    "PrivcalcError",
    "Result",
    "SpecError",
    "UnsupportedError",
    "UsageError",
    "Verdict",
    "calibrate",
    "calibrations",
    "compose",
    "convert",
    "from_dp_event",
    "from_opacus",
    "select",
    "subsample",
]
