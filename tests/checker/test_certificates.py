"""Certificates are accepted by a program that shares nothing with privcalc, and forged ones not."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from flint import acb, arb

from tests.checker.__main__ import main
from tests.checker.check import check, digest
from tests.checker.laws import Clock, Gaussian, Laplace, Law, SampledGaussian, ball
from tests.checker.lines import beyond, listed, variance
from tests.checker.questions import directions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Run = Callable[..., Outcome]

FOLDER = Path(__file__).parent
ROWS = [json.loads(row) for row in (FOLDER / "questions.jsonl").read_text("utf-8").splitlines()]
# Of these the answer is a bracket that is not exact.
QUESTIONS = [row["question"] for row in ROWS[:12]]


@pytest.fixture(autouse=True)
def _clock() -> None:
    """Let each test have the time of a check."""
    Clock.spent = 0


def written(run: Run, question: str, folder: Path) -> str:
    """Return the certificate of an answer."""
    path = folder / "certificate.json"
    done = run("compose", *question.split(), "--certificate", str(path))
    assert done.status == 0, done.stderr
    return path.read_text(encoding="utf-8")


def signed(text: str) -> str:
    """Return a text with the digest of what it says now."""
    return re.sub('("digest": )"[^"]*"', rf'\1"{digest(text)}"', text)


def forged(text: str, old: str, new: str) -> str:
    """Change a certificate."""
    assert old in text
    return signed(text.replace(old, new))


@pytest.mark.few(8)
@pytest.mark.parametrize("row", ROWS, ids=[row["question"] for row in ROWS])
def test_what_is_proved(run: Run, tmp_path: Path, row: dict[str, str]) -> None:
    """What is printed is proved again from the question and a line, or the check says why not."""
    word, why = check(written(run, row["question"], tmp_path))
    assert (word, row["why"] in why) == (row["word"], True), why


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


def test_each_digit_and_key_counts(run: Run, tmp_path: Path) -> None:
    """A certificate with one digit changed, or a key given twice, is refused."""
    text = written(run, QUESTIONS[0], tmp_path)
    digits = [k for k, each in enumerate(text) if each.isdigit()]
    for k in digits:
        assert check(text[:k] + str((int(text[k]) + 1) % 10) + text[k + 1 :]).word == "refused"
    for key in ("spec", "result", "digest", "upper", "epsilon"):
        twice = text.replace(f'"{key}": ', f'"{key}": 0.01, "{key}": ', 1)
        assert check(signed(twice)).word == "refused"


@pytest.mark.slow
def test_another_question_is_refused(run: Run, tmp_path: Path) -> None:
    """The answer is no answer to a question that costs more, or that the check does not know."""
    text = written(run, QUESTIONS[0], tmp_path)
    for old, new in (
        ('"count": 14063', '"count": 15000'),
        ('"256/60000"', '"257/60000"'),
        ('"standard_deviation": 1.1', '"standard_deviation": 1.09'),
        ('"delta": 1e-05', '"delta": 9e-06'),
    ):
        assert check(forged(text, old, new)).word == "refused"
    assert check(forged(text, '"add_or_remove_one"', '"replace_one"')).word == "not checked"


def made(row: dict[str, object]) -> str:
    """Return a certificate that says anything, with its digest."""
    each = {"proof": "closed form"}
    document = {
        "schema": "privcalc/certificate/v1", "version": "0", "relation": "add_or_remove_one",
        "directions": {"remove": each, "add": each}, "digest": "", **row,
    }  # fmt: skip
    return signed(json.dumps(document))


def test_false_certificates() -> None:
    """What is false, or can be read in two ways, is never accepted: `false.jsonl` says why."""
    for line in (FOLDER / "false.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        why, word = row.pop("why"), row.pop("word")
        assert (why, check(made(row)).word) == (why, word)
    for text in ("", "{}", "[1]", '{"schema": "privcalc/certificate/v1"}', "[" * 3000 + "9" * 400):
        assert check(text).word == "refused"


def noise(sigma: str, q: str, *, remove: bool, ends: str = "") -> SampledGaussian:
    """Return samples of Gaussian noise, or the outcomes of them from one place to another."""
    low, high = (Fraction(end) if end else None for end in (ends or ":").split(":"))
    return SampledGaussian(Fraction(sigma), Fraction(q), remove=remove, ends=(low, high))


SAMPLES = {
    f"{'removed' if remove else 'added'} {sigma} {ends}": noise(sigma, q, remove=remove, ends=ends)
    for sigma, q in (("1.1", "0.02"), ("0.5", "0.4"), ("1.4", "1/300"))
    for remove, ends in ((True, ""), (False, ""), (True, ":2.1"), (True, "0.3:2"), (True, "6:"))
}


@pytest.mark.parametrize("law", SAMPLES.values(), ids=list(SAMPLES))
@pytest.mark.parametrize("c", ["0.5", "3.7"])
def test_moments_of_samples(law: SampledGaussian, c: str) -> None:
    """One by one and together on a line they are the integrals of the densities, however rare."""
    step = ball(Fraction(31, 3))
    together = law.along(ball(Fraction(c)), step, 5)
    sigma, q = float(law.noise), float(law.probability)
    low = -12.0 if law.low is None else float(law.low)
    high = max(low, 0.0) + 16.0 if law.high is None else float(law.high)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    width = (high - low) / 800
    x = low + width * (np.arange(800)[:, None] + (nodes + 1) / 2)
    density = np.exp(-x * x / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))
    logs = np.log1p(q * np.expm1((2 * x - 1) / (2 * sigma**2)))
    whole = float(together[0].real)
    for k in (0, 1, 4):
        power = complex(c) + 31j * k / 3
        power = power + 1 if law.remove else -power
        truth = complex((density * np.exp(power * logs) * weights * width / 2).sum())
        for value in (together[k], law.moment(acb(ball(Fraction(c)), k * step))):
            assert abs(complex(value) - truth) < 1e-11 * whole
            assert value.real.rad() + value.imag.rad() < 1e-22 * whole


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "law", [Gaussian(Fraction(1, 4)), Laplace(Fraction(1, 2)), *SAMPLES.values()]
)
@pytest.mark.parametrize("c", [0.3, 4.0])
def test_what_lies_beyond(law: Law, c: float) -> None:
    """No value of |phi| beyond a point is above the bounds on it, and the variance is not above."""
    at, whole, start = arb(c), law.moment(acb(c)).real, 3.0
    most, far = beyond(law, at, arb(start), 50), law.far(at, arb(start))
    for k in range(1, 40):
        t = start * 1.15**k if k > 15 else start + 0.3 * (k - 1)
        modulus = law.moment(acb(c, t)).abs_lower() / whole
        assert modulus**50 <= most
        assert modulus <= far * (1 + 1e-20)
    step = 1e-3
    around = [law.moment(acb(c + step * k)).real.log() for k in (-1, 0, 1)]
    curvature = float((around[0] - 2 * around[1] + around[2]) / step**2)
    assert float(variance(law, at)) >= curvature * (1 - 1e-5)


@pytest.mark.parametrize("kind", ["discrete_laplace", "discrete_gaussian"])
def test_losses_on_a_lattice(kind: str) -> None:
    """Powers of a polynomial are the sums over all outcomes."""
    name = "scale" if kind == "discrete_laplace" else "standard_deviation"
    event = {"type": kind, name: Fraction(3), "sensitivity": Fraction(2)}
    [(law, _)] = directions(event, "replace_one")["replace"]

    x = np.arange(-60, 63)
    size = x / 3.0
    weight = np.exp(-abs(size) if kind == "discrete_laplace" else -size * size / 2)
    p, loss = weight[:-2], np.log(weight[:-2] / weight[2:])
    sums = np.add.outer(loss, loss)
    for epsilon in (0.0, 0.4, 1.1):
        parts = np.maximum(0.0, 1 - np.exp(epsilon - sums))
        truth = (np.outer(p, p) * parts).sum() / p.sum() ** 2
        for uses in ([(law, 2)], [(law, 1), (law, 1)]):
            for end in listed(uses, ball(Fraction(epsilon))) or ():
                assert float(end) == pytest.approx(truth, rel=1e-8)


def test_written_numbers_are_kept(run: Run, tmp_path: Path) -> None:
    """A delta that is no double is in the certificate as it was written."""
    question = f"gaussian:sigma=2@30 --delta 1.{'0' * 30}1e-5"
    text = written(run, question, tmp_path)
    assert json.loads(text)["query"]["delta"] == f"1.{'0' * 30}1e-5"
    assert check(text).word == "accepted"


def test_it_shares_nothing() -> None:
    """The check imports nothing of privcalc, nor any number library but that of balls."""
    for path in FOLDER.glob("[!t]*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) (privcalc|numpy|scipy|mpmath)", text, re.MULTILINE)


def test_the_command(tmp_path: Path) -> None:
    """Each file has a line; the worst of them is the exit status, and none stops it."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    bracket = {"epsilon": {"lower": 0.9, "upper": 1.1}}
    pure: dict[str, object] = {
        "spec": {"type": "pure", "epsilon": 1},
        "query": {"delta": 0},
        "result": bracket,
    }
    good.write_text(made(pure), encoding="utf-8")
    bad.write_text("[" * 100_000, encoding="utf-8")
    assert main([str(good)]) == 0
    assert main([str(tmp_path / "missing"), str(bad), str(good)]) == 2
