"""Arguments in Python by other names: what was meant."""

from __future__ import annotations

from privcalc.spec.entry import suggestion

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


def meant(name: str, function: str, names: tuple[str, ...]) -> str:
    """Return what to write instead of a name that a function does not have."""
    found = _MEANT.get(name.lower(), "")
    found = found if found in names or " " in found else _ELSEWHERE.get(found, "")
    if " " in found:
        return found.format(function=function)
    return f"did you mean {found}?" if found else suggestion(name.lower(), names)
