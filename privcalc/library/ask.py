"""The commands as functions: one question, one answer.

Parameters are called as the options are, and mean the same; see the manual pages for more of each.
A number may be a text, read as on the command line. A list of deltas, or of epsilons, has an answer
for each; they share the work of one question. A budget is asked of a bracket, with `verdict`, and
that of a file with `check`.
All functions raise subclasses of `PrivcalcError`: UsageError for what does not fit together,
SpecError, DomainError for a number out of range, UnsupportedError, and NotCertifiedError where no
finite number is proved.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, overload

from privcalc.bounds import TOLERANCE
from privcalc.errors import UsageError
from privcalc.library.given import (
    asked,
    at_most_one,
    engine_named,
    is_several,
    listed,
    numbers,
    places,
    relation_named,
    text_of,
    tolerance_of,
    whole,
)
from privcalc.library.named import named
from privcalc.library.result import Result, Results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from typing import Literal, TypedDict, Unpack

    from privcalc.accounting.convert import Target
    from privcalc.library.given import Number, Numbers, Several, Spec
    from privcalc.render.report import Report

    Engine = Literal["auto", "contour", "fft", "rdp"]
    # Targets that are one answer, however many numbers they are asked with.
    OtherTarget = Literal["profile", "rdp", "zcdp", "gdp", "tradeoff", "risk"]

    # What does not decide whether there is one answer, or one for each of several numbers.
    class _Common(TypedDict, total=False):
        relation: str | None
        tolerance: Number
        engine: Engine

    class _Conversion(_Common, total=False):
        orders: Numbers
        points: int | str | None
        fpr: Numbers
        prior: Numbers
        group: int | str

    class _Sampling(_Common, total=False):
        q: Number | None
        n: int | str | None
        m: int | str | None
        orders: Numbers
        count: int | str


def _answered(reports: Sequence[Report], *places: Numbers) -> Result | Results:
    """Return an answer for each place where there is a list of them, else the last one."""
    if any(map(is_several, places)):
        return Results(map(Result, reports))
    return Result(reports[-1])


@overload
def compose(
    *specs: Spec, delta: Number | None = ..., epsilon: Number | None = ..., **more: Unpack[_Common]
) -> Result: ...


@overload
def compose(
    *specs: Spec, delta: Several, epsilon: None = ..., **more: Unpack[_Common]
) -> Results: ...


@overload
def compose(
    *specs: Spec, delta: None = ..., epsilon: Several, **more: Unpack[_Common]
) -> Results: ...


@named
def compose(
    *specs: Spec,
    delta: Numbers = None,
    epsilon: Numbers = None,
    relation: str | None = None,
    tolerance: Number = TOLERANCE,
    engine: Engine = "auto",
) -> Result | Results:
    """Bracket what everything together costs: epsilon at a delta, or delta at an epsilon.

        >>> import privcalc
        >>> answer = privcalc.compose("gaussian:sigma=5@100", delta=1e-6)
        >>> round(answer.epsilon.upper, 6)
        10.997151
        >>> answer.epsilon.verdict(11)
        <Verdict.WITHIN: 'within'>
        >>> twin = {"type": "gaussian", "standard_deviation": 5.0}
        >>> privcalc.compose(twin, "pure:epsilon=0.1", epsilon=1).delta.lower > 0
        True

    Of several deltas each has an answer, and so has each of several epsilons:

        >>> [each.epsilon.upper for each in privcalc.compose("pure:epsilon=1", delta=[0, "10%"])]
        [1.0, 0.8529051013813803]

    With neither the answer is the privacy profile, 21 points of its `curve`:

        >>> privcalc.compose("gaussian:sigma=5").curve[10][0]
        0.6

    Args:
        *specs: what touched the data; several are one sum.
        delta: where epsilon is asked, in [0, 1]; a list has an answer for each.
        epsilon: where delta is asked, >= 0; a list has, too.
        relation: add-or-remove-one, replace-one or replace-special; None for the default.
        tolerance: target relative width.
        engine: auto, contour, fft or rdp (upper end only).
    """
    from privcalc.reporting.compose import Composing

    deltas, epsilons = places(delta, epsilon)
    ask = Composing(
        deltas,
        epsilons,
        relation_named(relation),
        tolerance_of(tolerance),
        engine_named(engine),
    )
    return _answered(ask(asked(specs, relation)), delta, epsilon)


@overload
def convert(
    *specs: Spec,
    to: Literal["dp"] = ...,
    delta: Number | None = ...,
    epsilon: Number | None = ...,
    **more: Unpack[_Conversion],
) -> Result: ...


@overload
def convert(
    *specs: Spec,
    to: Literal["dp"] = ...,
    delta: Several,
    epsilon: None = ...,
    **more: Unpack[_Conversion],
) -> Results: ...


@overload
def convert(
    *specs: Spec,
    to: Literal["dp"] = ...,
    delta: None = ...,
    epsilon: Several,
    **more: Unpack[_Conversion],
) -> Results: ...


@overload
def convert(
    *specs: Spec,
    to: OtherTarget,
    delta: Numbers = ...,
    epsilon: Numbers = ...,
    **more: Unpack[_Conversion],
) -> Result: ...


@named
def convert(
    *specs: Spec,
    to: Target = "dp",
    delta: Numbers = None,
    epsilon: Numbers = None,
    orders: Numbers = None,
    points: int | str | None = None,
    fpr: Numbers = None,
    prior: Numbers = None,
    group: int | str = 1,
    relation: str | None = None,
    tolerance: Number = TOLERANCE,
    engine: Engine = "auto",
) -> Result | Results:
    """State one guarantee in another language.

        >>> import privcalc
        >>> privcalc.convert("zcdp:rho=0.5", to="zcdp").rho.upper
        0.5
        >>> rdp = privcalc.convert("gaussian:sigma=2", to="rdp", orders=[2, 8])
        >>> [order for order, divergence in rdp.curve]
        [2.0, 8.0]
        >>> privcalc.convert("gaussian:sigma=1", to="gdp").mu.upper
        1.0

    Args:
        *specs: what touched the data; several are one sum.
        to: dp, profile (also dp without delta and epsilon), rdp, zcdp, gdp, tradeoff or risk.
        delta: for dp, where a list has an answer for each; for gdp it asks for the mu that is
            matched there.
        epsilon: for dp, where a list has an answer for each; for profile all points of it.
        orders: for rdp, > 1.
        points: number of points of a profile or trade-off curve.
        fpr: false positive rates, for tradeoff and risk.
        prior: chances that the record is there, for risk.
        group: records that are protected together.
        relation: None for the default.
        tolerance: target relative width.
        engine: auto, contour, fft or rdp.
    """
    from privcalc.accounting.convert import TARGETS
    from privcalc.reporting.convert import Converting, check_uses

    if target := next((spec for spec in specs if spec in TARGETS), None):
        raise UsageError(f"{target} is no specification", hint=f"write to={target!r}")
    deltas = listed("delta", delta)
    epsilons = (listed if text_of("to", to) == "dp" else numbers)("epsilon", epsilon)
    if to == "dp":
        to = "dp" if deltas or epsilons else "profile"
        if deltas and epsilons:
            raise UsageError("an answer is about a delta or an epsilon; ask for both in turn")
    elif len(deltas) > 1:
        raise UsageError(f"an answer is about one delta, got {len(deltas)}; ask in turn")
    given = {"delta": delta, "epsilon": epsilon, "orders": orders, "points": points,
             "fpr": fpr, "prior": prior}  # fmt: skip
    named = [f"--{name}" for name, value in given.items() if value is not None]
    check_uses(to, named, engine=engine_named(engine))
    ask = Converting(
        to=to,
        deltas=deltas,
        epsilons=epsilons,
        orders=numbers("orders", orders),
        points=None if points is None else whole("points", points),
        rates=numbers("fpr", fpr),
        priors=numbers("prior", prior),
        records=whole("group", group),
        relation=relation_named(relation),
        tolerance=tolerance_of(tolerance),
        engine=engine,
    )
    reports = ask(asked(specs, relation))
    # A mu that is matched at a delta follows the one that holds everywhere.
    return _answered(reports, *((delta, epsilon) if to == "dp" else ()))


@overload
def subsample(*specs: Spec, delta: Number | None = ..., **more: Unpack[_Sampling]) -> Result: ...


@overload
def subsample(*specs: Spec, delta: Several, **more: Unpack[_Sampling]) -> Results: ...


@named
def subsample(
    *specs: Spec,
    q: Number | None = None,
    n: int | str | None = None,
    m: int | str | None = None,
    orders: Numbers = None,
    delta: Numbers = None,
    count: int | str = 1,
    relation: str | None = None,
    tolerance: Number = TOLERANCE,
    engine: Engine = "auto",
) -> Result | Results:
    """Say what sampling buys: the Renyi curve of what sees a sample, or epsilon after rounds of it.

        >>> import privcalc
        >>> [(order, bound)] = privcalc.subsample("gaussian:sigma=5", q=0.001, orders=8).curve
        >>> 1.6e-7 < bound.lower <= bound.upper < 1.7e-7
        True
        >>> rounds = privcalc.subsample("gaussian:sigma=5", q=0.001, delta=1e-8, count=10_000)
        >>> round(rounds.epsilon.upper, 6)
        0.092934

    Args:
        *specs: what sees the sample; several are one sum.
        q: probability with which each record is in the sample (Poisson sampling).
        n: number of records, of which m are drawn without replacement.
        m: size of the sample.
        orders: of the Renyi curve, > 1.
        delta: asks for epsilon instead of the curve; a list has an answer for each.
        count: number of rounds, each with a fresh sample, of which epsilon is.
        relation: None for the default of the sampling.
        tolerance: target relative width.
        engine: for epsilon: auto, contour, fft or rdp.
    """
    from privcalc.reporting.subsample import Subsampling, checked_sample

    deltas, rounds = listed("delta", delta), whole("count", count)
    if not deltas:
        if rounds != 1:
            raise UsageError("a count of rounds needs the delta at which epsilon is asked")
        if engine_named(engine) != "auto":
            raise UsageError("an engine is for epsilon, which needs a delta")
    elif orders is not None:
        raise UsageError("an answer is a curve over orders, or epsilon at a delta; ask in turn")
    chance = at_most_one("q", q)
    sizes = (None if size is None else whole(name, size) for name, size in (("n", n), ("m", m)))
    ask = Subsampling(
        checked_sample(chance[0] if chance else None, *sizes),
        numbers("orders", orders),
        deltas,
        rounds,
        relation_named(relation),
        tolerance_of(tolerance),
        engine_named(engine),
        curve=not deltas,
    )
    return _answered(ask(asked(specs, relation)), delta)


@overload
def select(
    *specs: Spec,
    runs: str,
    delta: Number | None = ...,
    epsilon: Number | None = ...,
    **more: Unpack[_Common],
) -> Result: ...


@overload
def select(
    *specs: Spec, runs: str, delta: Several, epsilon: None = ..., **more: Unpack[_Common]
) -> Results: ...


@overload
def select(
    *specs: Spec, runs: str, delta: None = ..., epsilon: Several, **more: Unpack[_Common]
) -> Results: ...


@named
def select(
    *specs: Spec,
    runs: str,
    delta: Numbers = None,
    epsilon: Numbers = None,
    relation: str | None = None,
    tolerance: Number = TOLERANCE,
    engine: Engine = "auto",
) -> Result | Results:
    """Bracket the price of publishing the best of a random number of runs.

        >>> import privcalc
        >>> best = privcalc.select("gaussian:sigma=4", runs="geometric:mean=30", delta=1e-6)
        >>> 1.788 < best.epsilon.lower <= best.epsilon.upper < 1.789
        True
        >>> best.bound("base_epsilon").upper < 1.07
        True

    Args:
        *specs: what one run costs; several are one sum.
        runs: distribution of the number of runs, as `--runs` takes it.
        delta: where epsilon is asked; a list has an answer for each.
        epsilon: where delta is asked; a list has, too.
        relation: None for the default.
        tolerance: target relative width of what one run costs.
        engine: for one run: auto, contour, fft or rdp.
    """
    from privcalc.reporting.select import Selecting, read_runs

    deltas, epsilons = places(delta, epsilon)
    if not (deltas or epsilons):
        raise UsageError("select needs a delta or an epsilon")
    ask = Selecting(
        read_runs(str(runs) if isinstance(runs, int) else text_of("runs", runs)),
        deltas,
        epsilons,
        relation_named(relation),
        tolerance_of(tolerance),
        engine_named(engine),
    )
    return _answered(ask(asked(specs, relation)), delta, epsilon)


@named
def calibrate(
    *specs: Spec,
    epsilon: Number | None = None,
    delta: Number | None = None,
    mu: Number | None = None,
    rho: Number | None = None,
    advantage: Number | None = None,
    tpr: Number | None = None,
    fpr: Number | None = None,
    ratio: Numbers = None,
    relation: str | None = None,
    tolerance: Number = TOLERANCE,
) -> Result:
    """Find the value of the free parameter, written _, that meets a target.

        >>> import privcalc
        >>> noise = privcalc.calibrate("gaussian:sigma=_@100", epsilon=1, delta=1e-6)
        >>> noise.sufficient
        42.2467889
        >>> noise.epsilon.upper <= 1.0
        True
        >>> noise.text
        'gaussian:sigma=42.2467889@100'

    Args:
        *specs: what will touch the data, with _ for the value that is wanted.
        epsilon: may be spent, at a delta.
        delta: where epsilon holds.
        mu: of Gaussian differential privacy.
        rho: of concentrated differential privacy.
        advantage: of a membership attack.
        tpr: true positive rate of a membership attack, at a false positive rate.
        fpr: where tpr holds.
        ratio: of the values of several free parameters, in order of appearance.
        relation: None for the default.
        tolerance: of every bracket.
    """
    given = {"epsilon": epsilon, "delta": delta, "mu": mu, "rho": rho, "advantage": advantage,
             "tpr": tpr, "fpr": fpr}  # fmt: skip
    hint = "privcalc.calibrations has an answer for each"
    several = {name: at_most_one(name, value, hint) for name, value in given.items()}
    (found,) = _calibrated(specs, several, ratio, relation, tolerance)
    return found


@named
def calibrations(
    *specs: Spec,
    epsilon: Numbers = None,
    delta: Numbers = None,
    mu: Numbers = None,
    rho: Numbers = None,
    advantage: Numbers = None,
    tpr: Numbers = None,
    fpr: Numbers = None,
    ratio: Numbers = None,
    relation: str | None = None,
    tolerance: Number = TOLERANCE,
) -> Results:
    """Find the free parameter for each of several targets: every budget at every delta.

        >>> import privcalc
        >>> for noise in privcalc.calibrations("gaussian:sigma=_", epsilon=[1, 10], delta=1e-6):
        ...     print(noise.query["epsilon"], noise.sufficient)
        1.0 4.22467889
        10.0 0.5410868319

    The arguments are those of `calibrate`, of which those of the target may be several. Each target
    has the work of a question of its own.
    """
    given = {"epsilon": epsilon, "delta": delta, "mu": mu, "rho": rho, "advantage": advantage,
             "tpr": tpr, "fpr": fpr}  # fmt: skip
    several = {name: numbers(name, value) for name, value in given.items()}
    return _calibrated(specs, several, ratio, relation, tolerance)


def _calibrated(
    specs: Sequence[Spec],
    given: Mapping[str, Sequence[float]],
    ratio: Numbers,
    relation: str | None,
    tolerance: Number,
) -> Results:
    from privcalc.reporting.calibrate import Calibrating, checked_targets, target_names

    question = asked(specs, relation, holes=True)
    known = {name: values for name, values in given.items() if values}
    ask = Calibrating(
        checked_targets({name: known[name] for name in target_names(known)}),
        numbers("ratio", ratio),
        relation_named(relation),
        tolerance_of(tolerance),
    )
    return Results(map(Result, ask(question)))


@named
def check(
    file: str | PathLike[str],
    *,
    relation: str | None = None,
    tolerance: Number = TOLERANCE,
    engine: Engine = "auto",
) -> Result:
    """Check the budget of a file, as `compose --file` does: what its parts cost, and all of it.

        >>> import privcalc, tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp(), "privacy.toml")
        >>> _ = file.write_text('''
        ...     [budget]
        ...     epsilon = 3
        ...     delta = 1e-5
        ...     [[mechanism]]
        ...     name = "training"
        ...     spec = "gaussian:sigma=1.1@poisson:q=256/60000@14063"
        ... ''')
        >>> answer = privcalc.check(file)
        >>> answer.verdict, round(answer.epsilon.upper, 6)
        (<Verdict.WITHIN: 'within'>, 2.38169)

    Args:
        file: its name.
        relation: None for that of the file, or the default.
        tolerance: target relative width.
        engine: for epsilon and mu: auto, contour, fft or rdp.

    Raises:
        FileError: something in the file is wrong; it says in which line.
    """
    from os import fspath

    from privcalc.reporting.compose import Composing
    from privcalc.reporting.gate import checked

    under = relation_named(relation)
    ask = Composing((), (), under, tolerance_of(tolerance), engine_named(engine))
    name: object = file
    with suppress(TypeError):
        name = fspath(file)
    return Result(checked(text_of("file", name), ask))
