"""How each accountant is asked about runs of mechanisms; `limit.py` prints what they answer."""

from __future__ import annotations

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


def number(value: float, sign: str = "+") -> str:
    """Return a difference to one or two digits."""
    return f"{value:{sign}.0e}" if abs(value) < 1e-3 else f"{value:{sign}.2g}"
