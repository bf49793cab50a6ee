"""Private selection as a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privcalc.errors import DomainError, UnsupportedError, UsageError
from privcalc.exact import distinct, exact
from privcalc.relation import Adjacency
from privcalc.spec.entry import positive, share, whole
from privcalc.spec.registry import Parameter, value_text, wrapper
from privcalc.spec.tree import Hole, Wrapped
from privcalc.wrappers.base import Wrapper, built

if TYPE_CHECKING:
    from privcalc.engine.terms import Terms
    from privcalc.selection.runs import Runs
    from privcalc.spec.tree import Node, Parameters
    from privcalc.wrappers.base import Walk

UNTIL = "until"
# What each distribution takes, and of which it needs exactly one.
FAMILIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "geometric": (("mean", "gamma"), ()),
    "logarithmic": (("mean", "gamma"), ()),
    "tnb": (("mean", "gamma"), ("shape",)),
    "poisson": (("mean",), ()),
    "binomial": (("mean", "probability"), ("trials",)),
    "fixed": ((), ("trials",)),
    "distribution": ((), ("file",)),
    UNTIL: (("gamma",), ()),
}
# How text has the parameters.
SPELLED = {"trials": "n", "probability": "p"}


@wrapper(
    name="repeat_and_select",
    place=40,
    short="select",
    parameters=(
        Parameter("runs", kind="choice", choices=tuple(FAMILIES)),
        # The bound E[K] H(epsilon - C) grows with E[K] and with C, and C is the largest log of
        # phi'(z) / phi'(w) for tests (z, w). For z > w it is the integral over [w, z] of phi''
        # / phi', which grows with the mean: it is (shape + 1) g / (1 - g x), g = 1 - gamma, for
        # tnb runs, the mean for Poisson and (n - 1) p / (1 - p + p x) for binomial ones.
        positive("mean", "increases", default_text="from the others", cost_of_bound=True),
        Parameter("shape", minimum=-1.0, open_minimum=True, default_text="of tnb only"),
        share(
            "gamma",
            "decreases",
            open_minimum=True,
            open_maximum=True,
            default_text="from the mean",
            cost_of_bound=True,
        ),
        whole("trials", short="n", default_text="of binomial and fixed only"),
        share(
            "probability",
            "increases",
            short="p",
            open_minimum=True,
            default_text="from the mean",
            cost_of_bound=True,
        ),
        Parameter("file", kind="path", default_text="of distribution only"),
    ),
    example="gaussian:sigma=4@select:runs=geometric,mean=30",
)
class RepeatAndSelect(Wrapper):
    """Private selection: the best result of a random number of independent runs, and only that.

    The number of runs is drawn from a distribution that does not depend on the data, and is not
    published. Every run sees the whole data; what is best is decided by any score that is part of
    the result. The profile of the result is bounded by that of one run (Koskela, Redberg, Wang
    2024, and tighter), in both orders of the neighbours, and composes with other releases. Alone
    it is answered as the command select answers, from below too; in a sum it is an upper bound.
    Where there was no run, something that does not depend on the data is published.

    With `runs=until` nothing is compared: the first result that is acceptable is published, by any
    rule, and after each other run a coin stops with probability gamma, publishing nothing (Liu,
    Talwar 2019). With a pure mechanism this costs epsilon + log((e^epsilon + gamma) / (1 + gamma
    e^epsilon)), and in general what `selection/until.py` proves.
    """

    slow = True
    # Each run is one on the data as they were split, and bounds are of its pair. What is best may
    # be decided by the outputs of other parts, which are alike on both sides.
    splits = True

    def __init__(
        self,
        *,
        runs: str,
        mean: float | None = None,
        shape: float | None = None,
        gamma: float | None = None,
        trials: int | None = None,
        probability: float | None = None,
        file: str | None = None,
    ) -> None:
        """Take the distribution.

        Raises:
            DomainError: the distribution lacks a parameter, or has none of that name.
        """
        written: dict[str, float | str | None] = {
            "mean": mean,
            "shape": shape,
            "gamma": gamma,
            "trials": trials,
            "probability": probability,
            "file": file,
        }
        given = {name: value for name, value in written.items() if value is not None}
        either, needed = FAMILIES[runs]
        for name in given:
            if name not in (*either, *needed):
                raise DomainError(
                    f"{_spelled(name)} is no parameter of {runs} runs; it takes {takes(runs)}"
                )
        missing = any(name not in given for name in needed)
        if missing or (either and sum(name in given for name in either) != 1):
            raise DomainError(f"{runs} runs take {takes(runs)}")
        self.family, self.gamma = runs, gamma or 0.0
        self.parameters = given

    def distribution(self) -> Runs:
        """Return the distribution of the number of runs.

        Raises:
            DomainError: a parameter is missing or out of range, or the file cannot be read.
            UnsupportedError: the number of runs depends on their results.
        """
        from privcalc.selection.distribution import make_runs, read_probabilities

        if self.family == UNTIL:
            gamma = value_text(self.parameters["gamma"])
            raise UnsupportedError(
                "runs=until is no number of runs: compose has its cost, as of any specification",
                hint=f"write privcalc compose SPEC@select:runs=until,gamma={gamma}",
            )
        given: dict[str, Any] = {_spelled(name): value for name, value in self.parameters.items()}
        if "file" not in given:
            return make_runs(self.family, **given)
        file = str(given["file"])
        try:
            return make_runs(self.family, probabilities=read_probabilities(file))
        except DomainError as error:
            named = str(error).startswith(file)
            raise DomainError(str(error) if named else f"{file}: {error}") from None

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return what bounds the selection, in both orders of the neighbours at once."""
        orders: tuple[Adjacency, ...] = (adjacency,)
        if adjacency is not Adjacency.REPLACE:
            orders = (Adjacency.ADD, Adjacency.REMOVE)
        key = distinct(tree), orders, records
        if key not in walk.kept:
            from privcalc.engine.terms import Realized
            from privcalc.numerics.work import share
            from privcalc.selection.node import selection_law
            from privcalc.selection.until import until_law

            run = {each.value: walk.terms(tree.event, each, records) for each in orders}
            directions = Realized.directions(run)
            # At least as much is for what the whole costs.
            with share(2):
                walk.kept[key] = (
                    until_law(exact(self.gamma), directions)
                    if self.family == UNTIL
                    else selection_law(self.distribution(), directions)
                )
        return [(walk.kept[key], 1)]


def selection(tree: Node, runs: Parameters) -> Wrapped:
    """Return the specification of the best of several runs."""
    return Wrapped("repeat_and_select", runs, tree)


def runs_of(tree: Wrapped) -> Runs:
    """Return the distribution of the number of runs of a selection.

    Raises:
        DomainError: a parameter is missing or out of range, or the file cannot be read.
        UsageError: a parameter is free.
    """
    if any(isinstance(value, Hole) for _, value in tree.parameters):
        raise UsageError("a parameter of the runs is missing; only calibrate finds it")
    wrapper = built(tree)
    if not isinstance(wrapper, RepeatAndSelect):
        raise TypeError(f"{tree.name} is no selection")
    return wrapper.distribution()


def takes(family: str) -> str:
    """Say what a distribution takes: `n and either mean or p`."""
    either, needed = FAMILIES[family]
    words = [_spelled(name) for name in needed]
    if either:
        words.append(("either " if len(either) > 1 else "") + " or ".join(map(_spelled, either)))
    return " and ".join(words)


def _spelled(name: str) -> str:
    return SPELLED.get(name, name)
