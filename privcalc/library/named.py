"""Arguments by the names that they have: what another name meant, and which one is missing."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from privcalc.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")
_R = TypeVar("_R")

_SPECS = (
    "what touched the data stands first and has no name: privcalc.{function}('gaussian:sigma=5')"
)
_BUDGET = (
    "a budget is asked of the answer: .epsilon.verdict(3), or .delta.verdict(1e-5); that of a file"
    " is privcalc.check('privacy.toml')"
)
_NOISE = "it is a part of the specification: 'gaussian:sigma=1.1'"
_SAMPLE = "it is a part of the specification: 'gaussian:sigma=1.1@poisson:q=256/60000@14063'"
# By what people call it: what it is, a parameter or what to write.
_MEANT = {
    **dict.fromkeys(("eps", "target_epsilon", "epsilons", "e", "target_eps"), "epsilon"),
    **dict.fromkeys(("deltas", "target_delta", "d"), "delta"),
    **dict.fromkeys(("alpha", "alphas", "fprs", "false_positive_rate"), "fpr"),
    **dict.fromkeys(("q", "rate", "sample_rate", "sampling_rate", "sampling_probability"), "q"),
    **dict.fromkeys(("order", "renyi_orders"), "orders"),
    **dict.fromkeys(("neighboring_relation", "neighbors", "adjacency", "unit"), "relation"),
    **dict.fromkeys(("tol", "rtol", "precision"), "tolerance"),
    **dict.fromkeys(("target", "language"), "to"),
    **dict.fromkeys(("method", "accountant", "backend"), "engine"),
    **dict.fromkeys(("num_runs", "trials", "run"), "runs"),
    **dict.fromkeys(("k", "group_size"), "group"),
    **dict.fromkeys(("path", "filename", "name", "budget"), "file"),
    **dict.fromkeys(("max_epsilon", "max_delta", "max_rho", "max_mu", "epsilon_budget"), _BUDGET),
    **dict.fromkeys(
        ("spec", "specs", "specification", "mechanism", "mechanisms", "event", "text"), _SPECS
    ),
    **dict.fromkeys(("sigma", "scale", "noise", "noise_multiplier", "sensitivity"), _NOISE),
    **dict.fromkeys(("steps", "count", "epochs", "batch_size", "num_steps", "n", "m"), _SAMPLE),
}
# Where the parameter that was meant is none of the function.
_ELSEWHERE = {"q": _SAMPLE}
# What to write for what has to be there.
_NEEDED = {"runs": "such as runs='geometric:mean=30'", "file": "such as 'privacy.toml'"}


def named(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Refuse an argument of a name that a function does not have, and say what was meant."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    needed = [name for name in names if name not in (function.__kwdefaults__ or {})]

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name in kwargs:
            if name not in names:
                raise UsageError(
                    f"{function.__name__} takes no {name}",
                    hint=_hint(name, function.__name__, names),
                )
        for name in needed[0 if code.co_flags & _STARRED else len(args) :]:
            if name not in kwargs:
                raise UsageError(f"{function.__name__} needs {name}", hint=_NEEDED[name])
        if not code.co_flags & _STARRED and len(args) > code.co_argcount:
            raise UsageError(
                f"{function.__name__} takes one argument without a name, got {len(args)}"
            )
        return function(*args, **kwargs)

    return call


# The flag of a function that takes any number of arguments.
_STARRED = 0x04


def _hint(name: str, function: str, names: tuple[str, ...]) -> str:
    """Return what to write instead of a name."""
    from privcalc.spec.entry import suggestion

    meant = _MEANT.get(name.lower(), "")
    meant = meant if meant in names or " " in meant else _ELSEWHERE.get(meant, "")
    if " " in meant:
        return meant.format(function=function)
    return f"did you mean {meant}?" if meant else suggestion(name.lower(), names)
