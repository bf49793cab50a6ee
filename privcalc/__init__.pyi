from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import Literal, TypeAlias, TypedDict, Unpack, overload

from privcalc.bounds import Bound, Verdict
from privcalc.commands.recorded import from_dp_event, from_opacus
from privcalc.commands.result import Result, Results
from privcalc.errors import (
    DomainError,
    FileError,
    NotCertifiedError,
    PrivcalcError,
    SpecError,
    UnsupportedError,
    UsageError,
)

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
    "audit",
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

__version__: str

_Spec: TypeAlias = str | Mapping[str, object] | Result
_Number: TypeAlias = float | str | Decimal | Fraction
# For each of several numbers there is an answer.
_Several: TypeAlias = (
    Sequence[float] | Sequence[Decimal] | Sequence[Fraction] | list[str] | tuple[str, ...]
)
_Numbers: TypeAlias = _Number | _Several
_Engine: TypeAlias = Literal["auto", "contour", "fft", "rdp"]
# Targets that are one answer, however many numbers they are asked with.
_Target: TypeAlias = Literal["profile", "rdp", "zcdp", "gdp", "tradeoff", "risk"]

# What does not decide whether there is one answer, or one for each of several numbers.
class _Common(TypedDict, total=False):
    relation: str | None
    tolerance: _Number
    engine: _Engine

class _Conversion(_Common, total=False):
    orders: _Numbers | None
    points: int | str | None
    fpr: _Numbers | None
    prior: _Numbers | None
    group: int | str

class _Sampling(_Common, total=False):
    q: _Number | None
    n: int | str | None
    m: int | str | None
    orders: _Numbers | None
    count: int | str

class _Calibration(TypedDict, total=False):
    ratio: _Numbers | None
    relation: str | None
    tolerance: _Number

class _One(_Calibration, total=False):
    epsilon: _Number | None
    delta: _Number | None
    mu: _Number | None
    rho: _Number | None
    advantage: _Number | None
    tpr: _Number | None
    fpr: _Number | None

class _Targets(_Calibration, total=False):
    epsilon: _Numbers | None
    delta: _Numbers | None
    mu: _Numbers | None
    rho: _Numbers | None
    advantage: _Numbers | None
    tpr: _Numbers | None
    fpr: _Numbers | None

@overload
def compose(
    *specs: _Spec,
    delta: _Number | None = ...,
    epsilon: _Number | None = ...,
    **more: Unpack[_Common],
) -> Result: ...
@overload
def compose(
    *specs: _Spec, delta: _Several, epsilon: None = ..., **more: Unpack[_Common]
) -> Results: ...
@overload
def compose(
    *specs: _Spec, delta: None = ..., epsilon: _Several, **more: Unpack[_Common]
) -> Results: ...
@overload
def convert(
    *specs: _Spec,
    to: Literal["dp"] = ...,
    delta: _Number | None = ...,
    epsilon: _Number | None = ...,
    **more: Unpack[_Conversion],
) -> Result: ...
@overload
def convert(
    *specs: _Spec,
    to: Literal["dp"] = ...,
    delta: _Several,
    epsilon: None = ...,
    **more: Unpack[_Conversion],
) -> Results: ...
@overload
def convert(
    *specs: _Spec,
    to: Literal["dp"] = ...,
    delta: None = ...,
    epsilon: _Several,
    **more: Unpack[_Conversion],
) -> Results: ...
@overload
def convert(
    *specs: _Spec,
    to: _Target,
    delta: _Numbers | None = ...,
    epsilon: _Numbers | None = ...,
    **more: Unpack[_Conversion],
) -> Result: ...
@overload
def subsample(*specs: _Spec, delta: _Number | None = ..., **more: Unpack[_Sampling]) -> Result: ...
@overload
def subsample(*specs: _Spec, delta: _Several, **more: Unpack[_Sampling]) -> Results: ...
@overload
def select(
    *specs: _Spec,
    runs: str,
    delta: _Number | None = ...,
    epsilon: _Number | None = ...,
    **more: Unpack[_Common],
) -> Result: ...
@overload
def select(
    *specs: _Spec, runs: str, delta: _Several, epsilon: None = ..., **more: Unpack[_Common]
) -> Results: ...
@overload
def select(
    *specs: _Spec, runs: str, delta: None = ..., epsilon: _Several, **more: Unpack[_Common]
) -> Results: ...
@overload
def calibrate(*specs: _Spec, **target: Unpack[_One]) -> Result: ...
@overload
def calibrate(*specs: _Spec, **targets: Unpack[_Targets]) -> Result | Results: ...
def audit(
    *specs: _Spec,
    design: Literal["runs", "one-run"],
    counts: str | Sequence[int] | None = ...,
    canaries: int | str | None = ...,
    guesses: int | str | None = ...,
    correct: int | str | None = ...,
    scores: str | None = ...,
    threshold: _Number | None = ...,
    top: int | str | None = ...,
    bottom: int | str | None = ...,
    delta: _Number | None = ...,
    confidence: _Number = ...,
    relation: str | None = ...,
) -> Result: ...
def calibrations(*specs: _Spec, **targets: Unpack[_Targets]) -> Results: ...
def check(
    file: str | PathLike[str],
    *,
    relation: str | None = ...,
    tolerance: _Number = ...,
    engine: _Engine = ...,
) -> Result: ...
