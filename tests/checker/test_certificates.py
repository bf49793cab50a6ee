"""Certificates are accepted by a program that shares nothing with privcalc, and forged ones not."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import mpmath
import pytest
from flint import acb, arb

from privcalc.accounting.directions import Direction, Method
from privcalc.bounds import Bound, Proof
from privcalc.engine.certified import Evidence, SplitLines, WholeLine
from privcalc.record import replace
from privcalc.render.data import certificate
from tests.checker.__main__ import main
from tests.checker.check import Verdict, check, digest
from tests.checker.laws import Clock, Finite, Gaussian, Laplace, Law, SampledGaussian, ball, name
from tests.checker.lines import above_all, beyond, of_laplace, on_lattice, one_sample, variance
from tests.checker.many import forged
from tests.checker.many import main as many
from tests.checker.questions import directions
from tests.checker.split import CutGaussian
from tests.cli.test_render import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def _clock() -> None:
    """Let each test have the time of a check."""
    Clock.spent = 0


QUESTIONS = (
    "gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5",
    "gaussian:sigma=1.6@poisson:q=0.3@88 --epsilon 5",
    "gaussian:sigma=3@poisson:q=0.00133@101036 --delta 3.76e-06",
    "gaussian:noise_multiplier=2@30 --delta 1e-30",
    "rr:p=0.7@100 --delta 1e-5",
    "rr:p=0.8@poisson:q=0.1@300 --epsilon 3",
    "approx:epsilon=0.1,delta=1e-8@40 --delta 1e-5",
    "discrete-laplace:scale=3,sensitivity=2@40 --relation replace-one --delta 1e-9",
    "discrete-gaussian:rho=0.1@100 --delta 1e-9",
    "gaussian:sigma=1.3@poisson:q=0.0498 --delta 4.91e-08",
    "gaussian:sigma=0.445@poisson:q=0.00999 --epsilon 3",
    "gdp:mu=0.5@7+gaussian:sigma=3 --epsilon 2",
    "gaussian:sigma=0.69@poisson:q=0.000132@22271 --delta 1e-6",
)


def written(run: Run, question: str, folder: Path) -> str:
    """Return the certificate of an answer."""
    path = folder / "certificate.json"
    done = run("compose", *question.split(), "--certificate", str(path))
    assert done.status == 0, done.stderr
    return path.read_text(encoding="utf-8")


@pytest.mark.few(3)
@pytest.mark.parametrize("question", QUESTIONS)
def test_accepted(run: Run, tmp_path: Path, question: str) -> None:
    """What is printed is proved again, in balls, from the question and a line."""
    assert check(written(run, question, tmp_path)).word == "accepted"


@pytest.mark.few(2)
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("end", "away"), [("upper", -1), ("lower", 1)])
def test_a_bracket_beside_the_truth_is_refused(
    run: Run, tmp_path: Path, question: str, end: str, away: int
) -> None:
    """An end that is moved beyond the other one is no bound, whatever digest it has."""
    text = written(run, question, tmp_path)
    [ends] = json.loads(text)["result"].values()
    other = "lower" if end == "upper" else "upper"
    wrong = ends[other] * (1 + away * 1e-6)
    text = forged(text, f'"{end}": {ends[end]!r}', f'"{end}": {wrong!r}')
    assert "above the upper one" in check(text).why
    text = forged(text, f'"{other}": {ends[other]!r}', f'"{other}": {wrong * (1 + away / 10)!r}')
    found = check(text)
    assert found.word == "refused"
    assert f"the {end} end is not proved" in found.why


def test_each_digit_counts(run: Run, tmp_path: Path) -> None:
    """A certificate with one digit changed, any digit, is refused."""
    text = written(run, QUESTIONS[0], tmp_path)
    digits = [k for k, each in enumerate(text) if each.isdigit()]
    assert len(digits) > 300
    for k in digits:
        changed = text[:k] + str((int(text[k]) + 1) % 10) + text[k + 1 :]
        assert check(changed).word == "refused"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"count": 14063', '"count": 15000'),
        ('"256/60000"', '"257/60000"'),
        ('"standard_deviation": 1.1', '"standard_deviation": 1.09'),
        ('"delta": 1e-05', '"delta": 9e-06'),
        ('"add_or_remove_one"', '"replace_one"'),
    ],
)
def test_another_question_is_refused(run: Run, tmp_path: Path, old: str, new: str) -> None:
    """The answer is no answer to a question that costs more, or that the check does not know."""
    text = forged(written(run, QUESTIONS[0], tmp_path), old, new)
    assert check(text).word == ("not checked" if "replace_one" in new else "refused")


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '{"schema": "privcalc/certificate/v1"}', '{"schema": "privcalc/result/v1"}'],
)
def test_what_is_no_certificate(text: str) -> None:
    """Anything else is refused with a sentence."""
    assert check(text).word == "refused"


@pytest.mark.parametrize(
    ("key", "value"),
    [("abscissa", "-1"), ("step", "0"), ("nodes", "0"), ("smoothing", "-0.5"), ("step", '"x"')],
)
def test_no_line(run: Run, tmp_path: Path, key: str, value: str) -> None:
    """A line that is none is refused."""
    text = written(run, QUESTIONS[0], tmp_path)
    changed = re.sub(rf'"{key}": [0-9.e-]+', f'"{key}": {value}', text)
    changed = re.sub(r"sha256:[0-9a-f]*", digest(changed), changed)
    assert check(changed).word == "refused"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("noisy-max:sigma=8,candidates=4@3 --delta 1e-6", "noisy_max is not known here"),
        ("gaussian:sigma=1@wor:n=1000,m=100@5 --delta 1e-6", "not known here"),
        ("laplace:scale=9@poisson:q=0.1@5 --delta 1e-6", "samples of laplace are not known here"),
        ("laplace:scale=62.7@223+laplace:scale=60 --delta 1e-6", "lattice FFT"),
    ],
)
def test_what_it_does_not_know(run: Run, tmp_path: Path, question: str, why: str) -> None:
    """Of what it does not know the check says so, and no more."""
    found = check(written(run, question, tmp_path))
    assert found.word == "not checked"
    assert why in found.why


LAWS: tuple[tuple[Law, str], ...] = (
    (Gaussian(Fraction(1, 4)), "gaussian"),
    (Laplace(Fraction(1, 2)), "laplace"),
    (SampledGaussian(Fraction(11, 10), Fraction(1, 50), remove=True), "removed"),
    (SampledGaussian(Fraction(11, 10), Fraction(1, 50), remove=False), "added"),
    (SampledGaussian(Fraction(1, 2), Fraction(2, 5), remove=True), "removed, little noise"),
    (SampledGaussian(Fraction(1, 2), Fraction(2, 5), remove=False), "added, little noise"),
    (Finite([(ball(Fraction(3, 4)), ball(Fraction(1, 4)))] * 1), "one outcome"),
)


def density(x: mpmath.mpf, law: Law) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return the density of P at an output, and the loss there, in 40 digits."""
    if isinstance(law, Gaussian):
        mu = mpmath.sqrt(mpmath.mpf(law.squared.numerator) / law.squared.denominator)
        return mpmath.npdf(x, mu, 1), mu * x - mu * mu / 2
    assert isinstance(law, SampledGaussian)
    sigma, q = (mpmath.mpf(number.str(40, radius=False)) for number in (law.sigma, law.q))
    without = mpmath.npdf(x, 0, sigma)
    mixed = (1 - q) * without + q * mpmath.npdf(x, 1, sigma)
    p, other = (mixed, without) if law.remove else (without, mixed)
    return p, mpmath.log(p / other)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "law", [each for each, _ in LAWS if not isinstance(each, Finite | Laplace)]
)
@pytest.mark.parametrize("s", [(0.5, 0.0), (3.0, 2.5), (1.5, 30.0)])
def test_moments(law: Law, s: tuple[float, float]) -> None:
    """The moments of the check's laws are the integrals of their densities."""
    at = mpmath.mpc(*s)
    ends = [-16, -12, -9, -6, -4, -3, -2, -1, 0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 11, 14, 18]

    def integrand(x: mpmath.mpf) -> mpmath.mpc:
        p, loss = density(x, law)
        return p * mpmath.exp(at * loss)

    truth = mpmath.quad(integrand, ends, maxdegree=9)
    found = law.moment(acb(*s))
    for known, ball_of in ((truth.real, found.real), (truth.imag, found.imag)):
        assert abs(float(ball_of - arb(mpmath.nstr(known, 30)))) < 1e-15 * abs(truth) + 1e-18


@pytest.mark.dear("4.0-removed, little noise")
@pytest.mark.few(2)
@pytest.mark.parametrize("law", [law for law, _ in LAWS[:6]], ids=[name for _, name in LAWS[:6]])
@pytest.mark.parametrize("c", [0.3, 4.0])
def test_what_lies_beyond(law: Law, c: float) -> None:
    """No value of |phi| beyond a point is above the bounds on it, and the variance is not above."""
    at, whole = arb(c), law.moment(acb(c)).real
    start = 3.0
    most, far = beyond(law, at, arb(start), 50), law.far(at, arb(start))
    moved = law.shifted(at, arb(start)) if isinstance(law, SampledGaussian) else far
    for k in range(1, 60):
        t = start * 1.1**k if k > 20 else start + 0.3 * (k - 1)
        modulus = law.moment(acb(c, t)).abs_lower() / whole
        assert modulus**50 <= most
        assert modulus <= far * (1 + 1e-20)
        assert modulus <= moved * (1 + 1e-20)
    step = 1e-3
    around = [law.moment(acb(c + step * k)).real.log() for k in (-1, 0, 1)]
    curvature = float((around[0] - 2 * around[1] + around[2]) / step**2)
    assert float(variance(law, at)) >= curvature * (1 - 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_random_questions(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the certificates are accepted, at least, none refused, and all that is forged is."""
    assert many(seed, 10) == 0
    assert "refused: " not in capsys.readouterr().out


def test_false_verdicts_are_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checker that accepts everything, or refuses what is true, is told of."""
    for verdict in (Verdict("accepted"), Verdict("refused", "of no use")):
        with monkeypatch.context() as patched:
            answers = iter([verdict] * 4 + [Verdict("accepted")] * 100)
            patched.setattr("tests.checker.many.check", lambda _, said=answers: next(said))
            assert many(1, 1) == 1
        assert f"{verdict.word}: compose " in capsys.readouterr().out


def hinge(loss: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Return (1 - e^{epsilon - loss})_+."""
    return max(mpmath.mpf(0), 1 - mpmath.exp(epsilon - loss))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("a", "n", "epsilon"), [(0.5, 1, 0.1), (0.5, 2, 0.3), (1.5, 2, 0.0), (1.0, 2, -0.5)]
)
def test_few_uses_of_laplace_noise(a: float, n: int, epsilon: float) -> None:
    """The closed form is the expectation over what the mechanism adds."""

    def loss(x: mpmath.mpf) -> mpmath.mpf:
        return abs(x - a) - abs(x)

    def rest(used: int, level: mpmath.mpf) -> mpmath.mpf:
        if used == n:
            return hinge(level, mpmath.mpf(epsilon))
        # What one more use has to have for the expectation to have a kink.
        kinks = [(a - epsilon + level + k * a) / 2 for k in range(-n, n + 1)]
        places = sorted({mpmath.mpf(0), mpmath.mpf(a), *(x for x in kinks if 0 < x < a)})
        found = rest(used + 1, level + a) / 2 + rest(used + 1, level - a) * mpmath.exp(-a) / 2
        return found + mpmath.quad(
            lambda x: mpmath.exp(-x) / 2 * rest(used + 1, level + loss(x)), places
        )

    found = of_laplace([(Laplace(Fraction(a)), n)], ball(Fraction(epsilon)))
    assert found is not None
    with mpmath.workdps(15):
        true = float(rest(0, mpmath.mpf(0)))
    for end in found:
        assert float(end) == pytest.approx(true, rel=1e-9)


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("epsilon", ["0.01", "0.09", "2"])
def test_one_sample(epsilon: str, *, remove: bool) -> None:
    """The closed form is the integral of the difference of the densities where it is positive."""
    law = SampledGaussian(Fraction("0.7"), Fraction("0.1"), remove=remove)
    parts = [(law, 1)]
    found = above_all(parts, ball(Fraction(epsilon))) or one_sample(parts, ball(Fraction(epsilon)))
    assert found is not None

    def excess(x: float) -> float:
        without, one = (math.exp(-((x - mean) ** 2) / 0.98) for mean in (0, 1))
        mixed = 0.9 * without + 0.1 * one
        p, q = (mixed, without) if remove else (without, mixed)
        return max(0.0, p - math.exp(float(epsilon)) * q)

    truth = math.fsum(excess(k / 1000) for k in range(-7000, 8000)) / 1000
    truth /= 0.7 * math.sqrt(2 * math.pi)
    for end in found:
        assert float(end) == pytest.approx(truth, rel=1e-4, abs=1e-30)


@pytest.mark.parametrize("kind", ["discrete_laplace", "discrete_gaussian"])
def test_losses_on_a_lattice(kind: str) -> None:
    """Powers of a polynomial are the sums over all outcomes."""
    name = "scale" if kind == "discrete_laplace" else "standard_deviation"
    event = {"type": kind, name: Fraction(3), "sensitivity": Fraction(2)}
    [(law, _)] = directions(event, "replace_one")["both"]

    def weight(x: int) -> mpmath.mpf:
        size = mpmath.mpf(x) / 3
        return mpmath.exp(-abs(size) if kind == "discrete_laplace" else -size * size / 2)

    noise = [(weight(x - 2), weight(x)) for x in range(-60, 63)]
    scale = sum(p for p, _ in noise)
    kinds: dict[str, tuple[mpmath.mpf, mpmath.mpf]] = {}
    for p, q in noise:
        loss = mpmath.log(p / q)
        mass = kinds.get(mpmath.nstr(loss, 20), (0, 0))[1]
        kinds[mpmath.nstr(loss, 20)] = loss, mass + p / scale
    several = [each for each in kinds.values() if each[1] > 1e-14]
    for epsilon in (0.0, 0.4, 1.1):
        found = on_lattice([(law, 2)], ball(Fraction(epsilon)))
        assert found is not None
        truth = sum(
            p * q * hinge(x + y, mpmath.mpf(epsilon))
            for (x, p), (y, q) in product(several, repeat=2)
        )
        for end in found:
            assert float(end) == pytest.approx(float(truth), rel=1e-8)


@pytest.mark.few(2)
@pytest.mark.parametrize("power", ["2.5", "-3.7"])
@pytest.mark.parametrize(("low", "high"), [("0.3", "2"), ("1.5", None), ("6", None)])
def test_outcomes_between_two_places(power: str, low: str, high: str | None) -> None:
    """Their moments are integrals, however rare they are, and fall by parts as is said."""
    sigma, q = Fraction("0.8"), Fraction("0.01")
    whole = SampledGaussian(sigma, q, remove=True)
    law = CutGaussian(whole, None if high is None else Fraction(high), Fraction(low))
    u, top = mpmath.mpf(power), mpmath.inf if high is None else mpmath.mpf(high)
    for t in (mpmath.mpf(0), mpmath.mpf("1.7"), mpmath.mpf(40)):

        def inside(x: mpmath.mpf, v: mpmath.mpf = t) -> mpmath.mpc:
            ratio = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * sigma**2))
            return mpmath.npdf(x, 0, mpmath.mpf("0.8")) * ratio ** (u + 1j * v)

        end = mpmath.mpf(low) + 8 if high is None else top
        places = mpmath.linspace(mpmath.mpf(low), end, 16)
        truth = mpmath.quad(inside, [*places, mpmath.inf] if high is None else places)
        s = acb(arb(power) - 1, arb(mpmath.nstr(t, 30)))
        found = law.moment(s)
        size = abs(truth)
        assert abs(complex(found) - complex(truth)) <= 1e-9 * float(size)
        assert float(found.abs_upper()) <= float(size) * (1 + 1e-9)
        if t > 0:
            most = law.moment(acb(s.real)).real * law.shifted(s.real, s.imag)
            assert float(size) <= float(law.varied(s.real) / s.imag) * (1 + 1e-12)
            assert float(size) <= float(most) * (1 + 1e-12)


def test_the_schema(run: Run, tmp_path: Path) -> None:
    """What is written fits the schema that is shipped, which is strict."""
    shipped = json.loads(run("--schema", "certificate").stdout)
    validator = jsonschema.Draft202012Validator(shipped)
    for question in (
        QUESTIONS[0],
        QUESTIONS[5],
        QUESTIONS[11],
        "rdp:order=8,epsilon=1 --delta 1e-5",
    ):
        found = json.loads(written(run, question, tmp_path))
        validator.validate(found)
        assert not validator.is_valid({**found, "more": 1})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "a SPEC with one --delta or --epsilon"),
        (("--delta", "1e-5,1e-6"), "a SPEC with one --delta or --epsilon"),
        (("--delta", "1e-5", "--engine", "afa"), "gives an estimate only"),
    ],
)
def test_what_has_no_certificate(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """A question without one answer is refused before anything is written."""
    path = tmp_path / "certificate.json"
    done = run("compose", "gaussian:sigma=1", *arguments, "--certificate", str(path))
    assert done.status == 2
    assert said in done.stderr
    assert not path.exists()


def test_a_folder_that_is_not_there(run: Run, tmp_path: Path) -> None:
    """Where it cannot be written nothing is answered."""
    path = tmp_path / "missing" / "certificate.json"
    done = run("compose", "gaussian:sigma=1", "--delta", "1e-5", "--certificate", str(path))
    assert done.status == 2
    assert not done.stdout
    assert "there is no folder" in done.stderr


@pytest.mark.parametrize("split", [False, True])
def test_lines_are_written_as_they_were_summed(split: bool) -> None:
    """Each number of a proof stands under its own name, with all digits, in each direction."""
    lines = [WholeLine(k + 0.1, k + 0.2, 10 * k + 7, k + 0.4) for k in range(4)]
    bound, proof = Bound(2.0, 1.0), Proof.INVERSION
    ways = []
    sides = {"add": (lines[0], lines[1]), "remove": (None, lines[3])}
    for kind, (right, left) in sides.items():
        told = {"split": SplitLines(3.7, right, left)} if split else {"line": left}
        evidence = Evidence(bound, proof, {"rounding": 1e-9}, **told)
        method = Method(proof, tolerance_met=True)
        ways.append(Direction(kind, bound, None, method, evidence))
    answer = replace(report({"epsilon": bound}), directions=tuple(ways))
    found = json.loads(certificate(answer))
    assert found["result"] == {"epsilon": {"lower": 1.0, "upper": 2.0}}
    names = "abscissa", "step", "nodes", "smoothing", "right"
    whole = [dict(zip(names, (k + 0.1, k + 0.2, 10 * k + 7, 0.0, k + 0.4), strict=True))
             for k in range(4)]  # fmt: skip
    ways = found["directions"]
    if split:
        # What has no line is left out.
        assert ways["add"]["split"] == {"level": 3.7, "right": whole[0], "left": whole[1]}
        assert ways["remove"]["split"] == {"level": 3.7, "left": whole[3]}
    else:
        assert (ways["add"]["line"], ways["remove"]["line"]) == (whole[1], whole[3])


def test_written_numbers_are_kept(run: Run, tmp_path: Path) -> None:
    """A delta that is no double is in the certificate as it was written; the answer is the same."""
    question = f"gaussian:sigma=2@30 --delta 1.{'0' * 30}1e-5"
    text = written(run, question, tmp_path)
    assert json.loads(text)["query"]["delta"] == f"1.{'0' * 30}1e-5"
    assert check(text).word == "accepted"
    plain = run("compose", *question.split(), "--json").stdout
    assert json.loads(plain)["result"] == json.loads(text)["result"]


def test_it_shares_nothing() -> None:
    """The check imports nothing of privcalc, nor any number library but that of balls."""
    folder = Path(__file__).parent
    for path in folder.glob("[!t]*.py"):
        if path.name == "many.py":
            # It asks for the certificates.
            continue
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) (privcalc|numpy|scipy|mpmath)", text, re.MULTILINE)


LINE = {"abscissa": 1.0, "step": 0.001, "nodes": 1, "smoothing": 0.0, "right": 9.0}
PURE: dict[str, object] = {"type": "pure", "epsilon": 1}


def composed(count: object, event: object) -> dict[str, object]:
    """Return several uses."""
    return {"type": "self_composed", "count": count, "event": event}


def made(
    spec: object, query: object, result: object, evidence: object = None, **more: object
) -> str:
    """Return a certificate that says anything, with its digest."""
    each = {"proof": "closed form"} if evidence is None else evidence
    document = {
        "schema": "privcalc/certificate/v1", "version": "0", "spec": spec,
        "relation": "add_or_remove_one", "query": query, "result": result,
        "directions": {"remove": each, "add": each}, "digest": "", **more,
    }  # fmt: skip
    text = json.dumps(document)
    return re.sub(r'"digest": ""', f'"digest": "{digest(text)}"', text)


def ends(lower: object, upper: object) -> dict[str, object]:
    """Return an answer."""
    return {"epsilon": {"lower": lower, "upper": upper}}


LAPLACE = {"type": "laplace", "scale": 20}
FEW = {
    "type": "poisson_sampled", "sampling_probability": 0.1,
    "event": {"type": "gaussian", "standard_deviation": 0.5},
}  # fmt: skip
LOW = {"level": math.log1p(-0.1) + 1e-13, "right": LINE}
FORGED = {
    # A line with so long a step that aliases are larger than delta: epsilon is 7.42.
    "aliases": made(
        composed(1000, LAPLACE), {"delta": 1e-5}, ends(34.27, 36.54),
        {"line": {**LINE, "abscissa": 50.0, "step": 6.0, "nodes": 200}},
    ),
    # A split below all that is looked at: delta is above 0.0024.
    "split": made(
        composed(2, FEW), {"epsilon": 3}, {"delta": {"upper": 1e-6}},
        None, directions={"remove": {"split": LOW}, "add": {"order": 3}},
    ),
    # On a plateau every epsilon has the delta that was asked for.
    "plateau": made(PURE, {"delta": 0}, ends(1000, 1000)),
    "plateau of answers": made(
        composed(5, {"type": "randomized_response", "probability": 0.75}),
        {"delta": 0}, ends(50, 60),
    ),
    "plateau at a mass": made(
        {"type": "approx", "epsilon": 1, "delta": 2**-10}, {"delta": 2**-10}, ends(30, 40)
    ),
    "two results": made(
        PURE, {"delta": 0}, {**ends(1, 1.0000001), "delta": {"upper": 1e-9}}
    ),
    "no ends": made(PURE, {"delta": 0}, {"epsilon": {}}),
    "no upper end": made(PURE, {"delta": 0}, {"epsilon": {"lower": 0}}),
    "capitals": made(PURE, {"delta": 0}, {"epsilon": {"lower": 0.5, "Upper": 0.6, "upper": 2}}),
    "other quantity": made(PURE, {"delta": 0, "epsilon": 5}, {"Epsilon": {"upper": 1e-9}}),
    "more": made(PURE, {"delta": 0}, ends(0.9, 1.1), text="pure:epsilon=9"),
    "both noises": made(
        {"type": "gaussian", "standard_deviation": 0.1, "noise_multiplier": 10},
        {"delta": 1e-5}, {"epsilon": {"upper": 0.5}},
    ),
    "noise and sensitivity": made(
        {"type": "gaussian", "noise_multiplier": 10, "sensitivity": 100},
        {"delta": 1e-5}, {"epsilon": {"upper": 0.5}},
    ),
    "mu and count": made(
        {"type": "gdp", "mu": 0.1, "count": 100}, {"delta": 1e-5}, {"epsilon": {"upper": 0.5}}
    ),
    "two answers": made(
        {"type": "randomized_response", "probability": 0.6, "epsilon": 9},
        {"delta": 0}, {"epsilon": {"upper": 0.5}},
    ),
    "part of a step": made(
        {"type": "discrete_laplace", "scale": 10, "sensitivity": 0.5},
        {"delta": 0}, {"epsilon": {"upper": 0.0001}},
    ),
    "part of a count": made(composed(1.9, PURE), {"delta": 0}, {"epsilon": {"upper": 1.0001}}),
    "no count": made(composed(0, PURE), {"delta": 0}, {"epsilon": {"upper": 0.1}}),
    "negative counts": made(
        composed(-1, composed(-1, PURE)), {"delta": 0}, {"epsilon": {"upper": 1.0001}}
    ),
    "negative epsilon": made(
        {"type": "pure", "epsilon": -1}, {"delta": 0}, {"epsilon": {"upper": 1.0001}}
    ),
    "below 0": made(PURE, {"delta": 0}, {"epsilon": {"upper": -1}}),
    "huge": made(
        {"type": "pure", "epsilon": "1e99999"}, {"delta": 0}, {"epsilon": {"upper": 2}}
    ),
    "long": made(PURE, {"delta": 0}, {"epsilon": {"upper": 2}}, version="[" * 3000 + "9" * 400),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FORGED)
def test_false_certificates(name: str) -> None:
    """What is false, or can be read in two ways, is never accepted."""
    assert check(FORGED[name]).word != "accepted"


@pytest.mark.parametrize(
    ("evidence", "word"),
    [
        # No loss is so large; there is no evidence.
        ({"split": {"level": 800}}, "not checked"),
        ({"split": {"level": -9}}, "not checked"),
        ({"split": {}}, "refused"),
        (None, "refused"),
    ],
)
def test_no_evidence_stops_it(evidence: dict[str, object] | None, word: str) -> None:
    """Whatever a certificate names, there is a word for it."""
    found = {} if evidence is None else {"remove": evidence, "add": {"order": 3}}
    text = made(composed(2, FEW), {"epsilon": 3}, {"delta": {"upper": 1e-6}}, directions=found)
    assert check(text).word == word
    text = made(PURE, {"delta": 0}, ends(0, 9), directions={}, relation="replace_one")
    assert check(text).word == "refused"


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_an_end_is_a_number(end: str) -> None:
    """False is not 0."""
    text = made(PURE, {"delta": 0}, {"epsilon": {"lower": 0, "upper": 1, end: False}})
    assert check(text).word == "refused"


def test_a_sample_of_nearly_everything_is_not_refused(run: Run, tmp_path: Path) -> None:
    """Where the checker cannot, it says so."""
    question = "gaussian:sigma=1.84@poisson:q=0.9999937756@5 --delta 1e-40"
    assert check(written(run, question, tmp_path)).word == "not checked"


@pytest.mark.parametrize("key", ["spec", "result", "digest", "upper", "epsilon"])
def test_a_key_that_is_given_twice(key: str) -> None:
    """The last one would win, and a reader sees the first."""
    text = made(PURE, {"delta": 0}, ends(0.9, 1.1))
    assert check(text).word == "accepted"
    twice = text.replace(f'"{key}": ', f'"{key}": 0.01, "{key}": ', 1)
    assert check(re.sub(r"sha256:[0-9a-f]*", digest(twice), twice)).word == "refused"


@pytest.mark.parametrize(
    ("spec", "delta", "word"),
    [
        ("gaussian:sigma=2@10", "0", "accepted"),
        ("gaussian:sigma=1@poisson:q=0.01@1000", "0", "accepted"),
        ("approx:epsilon=0.1,delta=1e-6@40", "1e-5", "accepted"),
        ("approx:epsilon=0.1,delta=1e-6@30+gaussian:sigma=3@5", "1e-5", "accepted"),
        ("rr:p=0.7@10", "0", "accepted"),
        ("rr:p=0.51@5000", "1e-6", "accepted"),
    ],
)
def test_infinity_and_long_lists(
    run: Run, tmp_path: Path, spec: str, delta: str, word: str
) -> None:
    """No epsilon for a delta is an answer, too; and many outcomes are listed in little time."""
    assert check(written(run, f"{spec} --delta {delta}", tmp_path)).word == word


def test_a_false_infinity() -> None:
    """Where there is an epsilon, infinity is no lower end."""
    approx = {"type": "approx", "epsilon": 1, "delta": 0.25}
    assert check(made(approx, {"delta": 0.2}, ends("Infinity", "Infinity"))).word == "accepted"
    assert check(made(approx, {"delta": 0.25}, ends("Infinity", "Infinity"))).word != "accepted"


@pytest.mark.slow
def test_a_split_of_one_use(run: Run, tmp_path: Path) -> None:
    """One use of a law beside many of another is no error."""
    many = "gaussian:sigma=0.6@poisson:q=0.0002@5000"
    question = f"{many}+gaussian:sigma=0.5@poisson:q=0.00005@1 --delta 1e-6"
    assert check(written(run, question, tmp_path)).word != "refused"


def test_the_command(tmp_path: Path) -> None:
    """Each file has a line; the worst of them is the exit status, and none stops it."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(made(PURE, {"delta": 0}, ends(0.9, 1.1)), encoding="utf-8")
    bad.write_text("[" * 100_000, encoding="utf-8")
    assert main([str(good)]) == 0
    assert main([str(tmp_path / "missing"), str(bad), str(good)]) == 2


def test_balls_have_names_of_their_own() -> None:
    """What is worked out for one is not taken for another, however near."""
    third = arb(1) / 3
    near = [third, third + arb(2) ** -157, arb(third, arb(2) ** -150), arb(1) / 7]
    assert len({name(each) for each in near}) == len(near)
    assert name(arb(1) / 3) == name(third)


@pytest.mark.few(2)
@pytest.mark.parametrize("power", ["0.4", "-3.7"])
@pytest.mark.parametrize("end", [None, "2.1"])
def test_moments_of_samples_are_integrals(power: str, end: str | None) -> None:
    """At points of a line together, one by one and roughly: all have the integral in them."""
    law = SampledGaussian(Fraction(7, 5), Fraction(1, 300), remove=power[0] != "-")
    c = Fraction(power) - 1 if law.remove else -Fraction(power)
    found = law if end is None else CutGaussian(law, Fraction(end))
    step, s, q = Fraction(31, 3), mpmath.mpf("1.4"), mpmath.mpf(1) / 300
    together = found.along(ball(c), ball(step), 12)
    for k in (0, 5, 11):
        v = (1 if law.remove else -1) * k * mpmath.mpf(31) / 3

        def inner(x: mpmath.mpf, v: mpmath.mpf = v) -> mpmath.mpc:
            ratio = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * s**2))
            return mpmath.npdf(x, 0, s) * ratio ** mpmath.mpc(power, v)

        right = mpmath.mpf(20) if end is None else mpmath.mpf(end)
        places = [x for x in (-20, -8, -4, -2, 0, 1, 2, 3, 4, 5, 6, 8, 12) if x < right]
        truth = mpmath.quad(inner, [*places, right])
        for value in (together[k], found.moment(acb(ball(c), k * ball(step)))):
            for part, exact in ((value.real, truth.real), (value.imag, truth.imag)):
                middle = mpmath.mpf(part.mid().str(40, radius=False))
                assert abs(middle - exact) < 1e-18
                assert float(part.rad()) < 1e-25
        size = found.size(ball(c), k * ball(step))
        assert abs(truth) * (1 - mpmath.mpf("1e-15")) <= float(size) <= abs(truth) + 1e-12
