"""Benchmark of accountants: width, time and soundness of those that are installed, on four runs.

    python -m venv /tmp/peers
    /tmp/peers/bin/pip install . dp-accounting prv-accountant opacus autodp riskcal opendp
    /tmp/peers/bin/python -m tests.benchmarks.peers

prints a table in Markdown, as README has it. Cells under a delta are upper ends less the true
epsilon, which is known to 30 digits (`tests/oracles/dp_sgd.json`, by mpmath and without privcalc):
the least and the largest of the runs that the accountant can answer. Negative: below the truth, so
that it is no bound. The width is that of the widest bracket. Each answer is made in a process of
its own, with one thread; times are those of the processor, for the first run that is answered: the
whole process, and the answer alone when all is loaded. What is not installed has a line that says
so. Takes some minutes.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Run(NamedTuple):
    """Some steps of one mechanism, each on a Poisson sample of the records, or one of fixed size.

    A sample of fixed size has `sizes`, how many records there are and how many are drawn.
    """

    mechanism: str
    noise: float
    rate: float
    steps: int
    sizes: tuple[int, int] | None = None


Ends = tuple[float | None, float]
if TYPE_CHECKING:
    # A specification, the same as runs that are composed, and a delta.
    Ask = Callable[[str, Sequence[Run], float], Ends]

ORACLES = Path(__file__).parents[1] / "oracles"
# By what the oracles call them, which is a specification.
RUNS = {
    "gaussian:sigma=1.1@poisson:q=256/60000@14063": Run("gaussian", 1.1, 256 / 60000, 14063),
    "gaussian:sigma=0.6@poisson:q=0.02@5000": Run("gaussian", 0.6, 0.02, 5000),
    "gaussian:sigma=50.0@2500": Run("gaussian", 50.0, 1.0, 2500),
    "laplace:scale=20.0@1000": Run("laplace", 20.0, 1.0, 1000),
}
DELTAS = (1e-5, 1e-12)
REPEATS = 5
# Seconds of a process after which an answer is not asked for again.
LONG = 10.0


def privcalc(text: str, _: Sequence[Run], delta: float) -> Ends:
    """Ask this package."""
    from privcalc import compose

    found = compose(text, delta=delta).epsilon
    return found.lower, found.upper


def event(run: Run) -> Any:
    """Return the DpEvent of a run."""
    from dp_accounting import dp_event as dp

    name, noise, rate, steps, sizes = run
    makers = {"gaussian": dp.GaussianDpEvent, "laplace": dp.LaplaceDpEvent}
    once = _known(makers, name)(noise)
    if sizes is not None:
        once = dp.SampledWithoutReplacementDpEvent(*sizes, once)
    elif rate < 1.0:
        once = dp.PoissonSampledDpEvent(rate, once)
    return dp.SelfComposedDpEvent(once, steps)


def _known(makers: dict[str, Any], name: str) -> Any:
    """Return what makes a mechanism.

    Raises:
        NotImplementedError: the library has none.
    """
    if name not in makers:
        raise NotImplementedError
    return makers[name]


def _no_sizes(runs: Sequence[Run]) -> None:
    """Refuse samples of a fixed size."""
    if any(run.sizes is not None for run in runs):
        raise NotImplementedError


def google_pld(_: str, runs: Sequence[Run], delta: float) -> Ends:
    """Ask dp_accounting for its pessimistic estimate at the default grid."""
    _no_sizes(runs)
    if any(run.mechanism.startswith("discrete") for run in runs):
        return None, _google_discrete(runs, delta)
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    accountant = PLDAccountant()
    for run in runs:
        accountant.compose(event(run))
    return None, float(accountant.get_epsilon(delta))


def _google_discrete(runs: Sequence[Run], delta: float) -> float:
    """Compose what has no DpEvent but a privacy loss distribution of its own."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    makers = {
        "gaussian": pld.from_gaussian_mechanism,
        "laplace": pld.from_laplace_mechanism,
        "discrete-gaussian": pld.from_discrete_gaussian_mechanism,
        "discrete-laplace": lambda scale: pld.from_discrete_laplace_mechanism(1.0 / scale),
    }
    total: Any = None
    for run in runs:
        if run.rate < 1.0:
            raise NotImplementedError
        made = _known(makers, run.mechanism)(run.noise).self_compose(run.steps)
        total = made if total is None else total.compose(made)
    return float(total.get_epsilon_for_delta(delta))


def google_rdp(_: str, runs: Sequence[Run], delta: float) -> Ends:
    """Ask dp_accounting for the best of its Renyi orders."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

    sized = [run.sizes is not None for run in runs]
    relation = NeighboringRelation.REPLACE_ONE if any(sized) else None
    accountant = RdpAccountant(**({} if relation is None else {"neighboring_relation": relation}))
    for run in runs:
        accountant.compose(event(run))
    return None, float(accountant.get_epsilon(delta))


def prv(_: str, runs: Sequence[Run], delta: float) -> Ends:
    """Ask prv_accountant for an upper end with an error of 0.01."""
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import (
        GaussianMechanism,
        LaplaceMechanism,
        PoissonSubsampledGaussianMechanism,
    )

    _no_sizes(runs)
    makers = {
        "gaussian": lambda noise: GaussianMechanism(noise_multiplier=noise),
        "laplace": lambda noise: LaplaceMechanism(mu=1.0 / noise),
    }
    parts = []
    for name, noise, rate, _steps, _sizes in runs:
        if rate == 1.0:
            parts.append(_known(makers, name)(noise))
        elif name == "gaussian":
            parts.append(PoissonSubsampledGaussianMechanism(rate, noise))
        else:
            raise NotImplementedError
    steps = [run.steps for run in runs]
    accountant = PRVAccountant(
        prvs=parts, max_self_compositions=steps, eps_error=0.01, delta_error=delta / 1000
    )
    lower, _, upper = accountant.compute_epsilon(delta, steps)
    return float(lower), float(upper)


def _history(runs: Sequence[Run]) -> list[tuple[float, float, int]]:
    """Return noise, rate and steps of each run, as Opacus records them."""
    _no_sizes(runs)
    if any(run.mechanism != "gaussian" for run in runs):
        raise NotImplementedError
    return [run[1:4] for run in runs]


def opacus(kind: str) -> Ask:
    """Return a way to ask an accountant of Opacus."""

    def ask(_: str, runs: Sequence[Run], delta: float) -> Ends:
        history = _history(runs)
        from opacus.accountants import create_accountant  # type: ignore[import-not-found]

        accountant = create_accountant(kind)
        accountant.history = history
        return None, float(accountant.get_epsilon(delta=delta))

    return ask


def autodp(_: str, runs: Sequence[Run], delta: float) -> Ends:
    """Ask autodp for the best Renyi order."""
    from autodp.mechanism_zoo import GaussianMechanism, LaplaceMechanism  # type: ignore[import-not-found]
    from autodp.transformer_zoo import AmplificationBySampling, Composition  # type: ignore[import-not-found]

    makers = {"gaussian": GaussianMechanism, "laplace": LaplaceMechanism}
    parts = []
    for name, noise, rate, _steps, sizes in runs:
        once = _known(makers, name)(noise)
        if sizes is not None:
            once.neighboring = "replace_one"
            sample = AmplificationBySampling(PoissonSampling=False)
            once = sample(once, sizes[1] / sizes[0], improved_bound_flag=False)
        elif rate < 1.0:
            once.neighboring = "add_remove"
            sample = AmplificationBySampling(PoissonSampling=True)
            once = sample(once, rate, improved_bound_flag=True)
        parts.append(once)
    whole = Composition()(parts, [run.steps for run in runs])
    return None, float(whole.get_approxDP(delta))


def riskcal(_: str, runs: Sequence[Run], delta: float) -> Ends:
    """Ask riskcal for what its connected dots say."""
    history = _history(runs)
    from riskcal.accountants import CTDAccountant  # type: ignore[import-not-found]

    accountant = CTDAccountant()
    accountant.history = history
    return None, float(accountant.get_epsilon(delta=delta))


def opendp(_: str, runs: Sequence[Run], delta: float) -> Ends:
    """Ask OpenDP for the zCDP of the composition, as epsilon and delta."""
    import opendp.prelude as dp  # type: ignore[import-not-found]

    _no_sizes(runs)
    if any(run.rate < 1.0 for run in runs):
        raise NotImplementedError
    dp.enable_features("contrib", "honest-but-curious")
    discrete = {run.mechanism.startswith("discrete") for run in runs}
    if len(discrete) > 1:
        raise NotImplementedError
    # Noise on whole numbers is discrete, with the same names.
    kind: Any = int if True in discrete else float
    domain = dp.atom_domain(T=int) if kind is int else dp.atom_domain(T=float, nan=False)
    space = domain, dp.absolute_distance(T=kind)
    parts = []
    for run in runs:
        if run.mechanism.endswith("gaussian"):
            once = dp.m.make_gaussian(*space, scale=run.noise)
        else:
            once = dp.c.make_pureDP_to_zCDP(dp.m.make_laplace(*space, scale=run.noise))
        parts += [once] * run.steps
    whole = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(parts))
    return None, float(whole.map(kind(1)).epsilon(delta))


ACCOUNTANTS: dict[str, tuple[str, Ask]] = {
    "privcalc": ("privcalc", privcalc),
    "dp_accounting, PLD": ("dp-accounting", google_pld),
    "dp_accounting, RDP": ("dp-accounting", google_rdp),
    "prv_accountant": ("prv-accountant", prv),
    "Opacus, PRV": ("opacus", opacus("prv")),
    "Opacus, RDP": ("opacus", opacus("rdp")),
    "autodp, RDP": ("autodp", autodp),
    "riskcal": ("riskcal", riskcal),
    "OpenDP, zCDP": ("opendp", opendp),
}


def answer(name: str, text: str, delta: float) -> None:
    """Print both ends, the time of the processor so far, and the least of a few answers alone."""
    warnings.simplefilter("ignore")
    ends: Ends | None = None
    marks: list[float] = []
    try:
        while not marks or (len(marks) <= REPEATS and marks[-1] < LONG):
            ends = ACCOUNTANTS[name][1](text, [RUNS[text]], delta)
            marks.append(time.process_time())
    except NotImplementedError:
        marks = [0.0]
    alone = min((b - a for a, b in itertools.pairwise(marks)), default=marks[0])
    print(json.dumps([ends, marks[0], alone]))


def asked(name: str, text: str, delta: float) -> tuple[Ends, float, float] | None:
    """Return both ends, and the seconds of a whole process and of the answer alone."""
    command = [sys.executable, "-W", "ignore", "-m", __spec__.name, name, text, repr(delta)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, **threads}
        )
    except subprocess.CalledProcessError as error:
        print(f"{name}, {text}, delta {delta}: {error.stderr}", file=sys.stderr)
        return None
    ends, whole, alone = json.loads(done.stdout.splitlines()[-1])
    return None if ends is None else (ends, whole, alone)


def truths() -> dict[tuple[str, float], float]:
    """Return the epsilon of each run at each delta, from the oracles."""
    rows = json.loads((ORACLES / "dp_sgd.json").read_text(encoding="utf-8"))["rows"]
    found = {(row["text"], row["query"].get("delta")): float(row["maximum"]) for row in rows}
    return {(text, delta): found[text, delta] for text in RUNS for delta in DELTAS}


def number(value: float, sign: str = "+") -> str:
    """Return a difference to one or two digits."""
    return f"{value:{sign}.0e}" if abs(value) < 1e-3 else f"{value:{sign}.2g}"


def excess(values: list[float]) -> str:
    """Return how far above the truth answers lie, what lies below it in bold."""
    ends = dict.fromkeys(number(value) for value in (min(values), max(values)))
    return " to ".join(f"**{end}**" if end.startswith("-") else end for end in ends)


def line(name: str, true: dict[tuple[str, float], float]) -> str:
    """Return the line of one accountant."""
    try:
        library, comma, way = name.partition(",")
        title = f"{library} {version(ACCOUNTANTS[name][0])}{comma}{way}"
    except PackageNotFoundError:
        return f"| {name} | not installed | | | | |"
    found = {place: asked(name, *place) for place in true}
    known = {place: each for place, each in found.items() if each is not None}
    columns = [
        excess([each[0][1] - true[place] for place, each in known.items() if place[1] == delta])
        for delta in DELTAS
    ]
    widths = [upper - lower for (lower, upper), *_ in known.values() if lower is not None]
    columns.append(number(max(widths), "") if widths else "no lower end")
    _, whole, alone = next(iter(known.values()))
    return f"| {title} | {' | '.join(columns)} | {whole:.2g} s | {milliseconds(alone)} ms |"


def milliseconds(seconds: float) -> str:
    """Return a time to two digits."""
    return f"{float(f'{1e3 * seconds:.2g}'):g}"


def main() -> None:
    """Print the table."""
    print(
        "| accountant |"
        + "".join(f" at delta {delta:.0e} |" for delta in DELTAS).replace("e-0", "e-"),
        end="",
    )
    print(" width | whole process | answer alone |\n|---|---|---|---|---|---|")
    for name in ACCOUNTANTS:
        print(line(name, truths()), flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        answer(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    else:
        main()
