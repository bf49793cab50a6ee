"""`import privcalc`: documented, typed, light, and the same answers as the command line."""

from __future__ import annotations

import copy
import doctest
import json
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import privcalc
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

SAMPLED = "gaussian:sigma=1.1@poisson:q=1/100@50"
GAUSSIAN = "gaussian:sigma=3"
HOLES = "gaussian:sigma=_+gaussian:sigma=_"
# A command line, and the specifications and keywords of the call that asks the same.
SAME: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    (f"compose {SAMPLED} --delta 1e-5", (SAMPLED,), {"delta": 1e-5}),
    (f"compose {GAUSSIAN} pure:epsilon=0.1@3 --epsilon 1",
     (GAUSSIAN, "pure:epsilon=0.1@3"), {"epsilon": 1}),
    (f"compose {GAUSSIAN}", (GAUSSIAN,), {}),
    (f"compose {GAUSSIAN} --delta 0 --relation replace-one",
     (GAUSSIAN,), {"delta": 0, "relation": "replace_one"}),
    (f"compose {SAMPLED} --delta 1e-5 --engine rdp --tolerance 1e-3",
     (SAMPLED,), {"delta": 1e-5, "engine": "rdp", "tolerance": 1e-3}),
    (f"convert {GAUSSIAN}", (GAUSSIAN,), {}),
    (f"convert {GAUSSIAN} --to rdp --orders 2,3.5 --group 2",
     (GAUSSIAN,), {"to": "rdp", "orders": [2, 3.5], "group": 2}),
    (f"convert {SAMPLED} --to zcdp", (SAMPLED,), {"to": "zcdp"}),
    (f"convert {GAUSSIAN} --to gdp --delta 1e-5", (GAUSSIAN,), {"to": "gdp", "delta": 1e-5}),
    (f"convert {GAUSSIAN} --to tradeoff --fpr 0.1", (GAUSSIAN,), {"to": "tradeoff", "fpr": 0.1}),
    (f"convert {GAUSSIAN} --to risk --prior 0.5", (GAUSSIAN,), {"to": "risk", "prior": (0.5,)}),
    (f"subsample {GAUSSIAN} --q 0.001 --orders 2,8",
     (GAUSSIAN,), {"q": 0.001, "orders": (2, 8)}),
    (f"subsample {GAUSSIAN} --n 100 --m 3", (GAUSSIAN,), {"n": 100, "m": 3}),
    ("select pure:epsilon=1 --runs poisson:mean=2 --delta 1e-5",
     ("pure:epsilon=1",), {"runs": "poisson:mean=2", "delta": 1e-5}),
    ("calibrate gaussian:sigma=_ --epsilon 1 --delta 1e-5",
     ("gaussian:sigma=_",), {"epsilon": 1, "delta": 1e-5}),
    ("audit pure:epsilon=1 --design runs --counts 9,1,3,7 --delta 0 --confidence 0.9",
     ("pure:epsilon=1",),
     {"design": "runs", "counts": [9, 1, 3, 7], "delta": 0, "confidence": 0.9}),
    ("audit --design one-run --canaries 9 --guesses 5 --correct 4 --delta 1e-5",
     (), {"design": "one_run", "canaries": 9, "guesses": 5, "correct": 4, "delta": 1e-5}),
    (f"calibrate {HOLES} --mu 1 --ratio 1,2", (HOLES,), {"mu": 1, "ratio": (1, 2)}),
]  # fmt: skip


@pytest.mark.parametrize("name", [each for each in privcalc.__all__ if each != "__version__"])
def test_every_public_name_has_an_example(name: str) -> None:
    """The examples of its documentation say what happens."""
    [found] = doctest.DocTestFinder(recurse=False).find(getattr(privcalc, name), name)
    assert found.examples
    assert doctest.DocTestRunner().run(found).failed == 0


@pytest.mark.slow
def test_examples_of_the_package_and_the_readme() -> None:
    """They are run, too."""
    assert doctest.testmod(privcalc).failed == 0
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = doctest.DocTestParser().get_doctest(text, {}, "README.md", None, None)
    # A fence ends the output of the last example of its block.
    for each in found.examples:
        each.want = each.want.partition("```")[0]
    assert found.examples
    assert doctest.DocTestRunner().run(found).failed == 0


@pytest.mark.few(2)
@pytest.mark.parametrize(("line", "specs", "keywords"), SAME)
def test_as_the_command_line(
    line: str, specs: tuple[str, ...], keywords: dict[str, Any], run: Callable[..., Outcome]
) -> None:
    """An answer is what `--json` prints of it."""
    command, *arguments = line.split()
    found = getattr(privcalc, command)(*specs, **keywords)
    printed = run(command, *arguments, "--json").stdout.splitlines()[-1]
    assert found.to_json() == printed
    assert found.to_dict() == json.loads(printed)
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):  # noqa: S301
        assert (copied, hash(copied)) == (found, hash(found))


def test_numbers_as_attributes() -> None:
    """Each bracket has the ends that are printed; what was not asked is missed by name."""
    found = privcalc.compose(SAMPLED, delta=1e-5)
    printed = found.to_dict()["result"]["epsilon"]
    assert (found.epsilon.lower, found.epsilon.upper) == (printed["lower"], printed["upper"])
    assert (found.query, found.tolerance_met) == ({"delta": 1e-5}, True)
    assert not hasattr(found, "delta")
    with pytest.raises(AttributeError, match="has no mu; it has epsilon"):
        _ = found.mu
    with pytest.raises(AttributeError, match="frozen"):
        found.report = None  # type: ignore[misc, assignment]
    with pytest.raises(AttributeError, match="no curve"):
        _ = found.curve
    assert str(found).startswith("spec         gaussian:sigma=1.1@poisson:q=0.01@50\n")
    risk = privcalc.convert(GAUSSIAN, to="risk")
    assert risk.advantage == risk.bound("advantage")
    with pytest.raises(AttributeError, match="no bracket"):
        risk.bound("tpr_at_fpr")


def test_curves() -> None:
    """A point is a place and a bracket."""
    errors = [bound.upper for _, bound in privcalc.convert(GAUSSIAN, to="tradeoff").curve]
    assert errors == sorted(errors, reverse=True)
    for spec in (GAUSSIAN, "zcdp:rho=0.1"):
        curve = privcalc.subsample(spec, q=0.1, orders=(2, 3)).curve
        assert [order for order, _ in curve] == [2.0, 3.0]
        assert curve[0][1].upper <= curve[1][1].upper


def test_specifications_in_any_form() -> None:
    """Text, its twin, an answer and its object say the same."""
    text = privcalc.compose("laplace:scale=2@10", delta=1e-5)
    assert privcalc.compose(text.to_dict()["spec"], delta=1e-5) == text
    assert privcalc.compose(text, delta=1e-5) == text
    assert privcalc.compose(text.to_dict(), delta=1e-5) == text
    # The guarantee of an answer holds under its relation.
    other = privcalc.compose("laplace:scale=2", delta=1e-5, relation="replace-one")
    assert privcalc.compose(other, delta=1e-5).relation == "replace-one"
    with pytest.raises(privcalc.UsageError, match="holds under replace-one"):
        privcalc.compose(other, delta=1e-5, relation="add-or-remove-one")


@pytest.mark.parametrize(
    ("command", "specs", "keywords", "error"),
    [
        ("compose", (), {"delta": 0.1}, privcalc.UsageError),
        ("compose", (3,), {"delta": 0.1}, privcalc.SpecError),
        ("compose", ({"type": object()},), {"delta": 0.1}, privcalc.SpecError),
        ("compose", (GAUSSIAN,), {"delta": 0, "epsilon": 0}, privcalc.UsageError),
        ("compose", (GAUSSIAN,), {"delta": float("nan")}, privcalc.DomainError),
        ("compose", (GAUSSIAN,), {"delta": 0.1, "engine": "afa"}, privcalc.UsageError),
        ("compose", ("gaussian:sigma=_",), {"delta": 0.1}, privcalc.SpecError),
        ("convert", (GAUSSIAN,), {"to": "x", "points": 3}, privcalc.UsageError),
        ("convert", (GAUSSIAN,), {"to": "gdp", "fpr": 0.1}, privcalc.UsageError),
        ("convert", (GAUSSIAN,), {"epsilon": 1, "delta": (0.1,)}, privcalc.UsageError),
        ("check", ("missing.toml",), {}, privcalc.DomainError),
        ("select", (GAUSSIAN,), {"runs": "fixed:n=2"}, privcalc.UsageError),
        ("subsample", (GAUSSIAN,), {}, privcalc.UsageError),
        ("subsample", (GAUSSIAN,), {"q": 2}, privcalc.DomainError),
        ("subsample", (GAUSSIAN,), {"n": 3, "m": 4}, privcalc.DomainError),
        ("subsample", (GAUSSIAN,), {"q": 0.1, "count": 2}, privcalc.UsageError),
        ("calibrate", ("gaussian:sigma=_",), {}, privcalc.UsageError),
        ("calibrate", ("gaussian:sigma=_",), {"mu": -1}, privcalc.DomainError),
    ],
)
def test_refusals(
    command: str, specs: tuple[Any, ...], keywords: dict[str, Any], error: type[Exception]
) -> None:
    """What is wrong is an error of its kind, and no number."""
    with pytest.raises(error):
        getattr(privcalc, command)(*specs, **keywords)


def test_import_loads_nothing() -> None:
    """A name loads what it needs when it is used; every name is listed."""
    script = (
        "import sys, privcalc\n"
        "print([each for each in sys.modules if each.startswith('privcalc')], dir(privcalc))\n"
        "privcalc.Bound\n"
        "assert not {'numpy', 'typer', 'rich'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("['privcalc'] [")
    assert all(repr(name) in done.stdout for name in privcalc.__all__)
    assert (ROOT / "privcalc" / "py.typed").exists()
    with pytest.raises(AttributeError, match="has no attribute 'compse'"):
        _ = privcalc.compse  # type: ignore[attr-defined]


def test_errors_say_what_to_write() -> None:
    """So does whoever prints one; the message alone is there, too."""
    with pytest.raises(privcalc.SpecError) as caught:
        privcalc.compose("gaussian:sgma=1", delta=1e-5)
    error = caught.value
    assert str(error) == "gaussian has no parameter sgma (did you mean sigma?)"
    assert (error.message, error.hint) == ("gaussian has no parameter sgma", "did you mean sigma?")
    with pytest.raises(privcalc.UsageError) as no_hint:
        privcalc.select(GAUSSIAN, runs="fixed:n=2")
    assert str(no_hint.value) == no_hint.value.message == "select needs delta or epsilon"


@pytest.mark.dear("select pure:epsilon=1 --runs f", "subsample gaussian:sigma=3 --q")
@pytest.mark.parametrize(
    ("line", "specs", "keywords"),
    [
        (f"compose {SAMPLED} --delta 1e-5,1e-6", (SAMPLED,), {"delta": [1e-5, 1e-6]}),
        (f"compose {GAUSSIAN} --epsilon 1,2", (GAUSSIAN,), {"epsilon": (1, 2)}),
        (f"convert {GAUSSIAN} --delta 1e-5,1e-6", (GAUSSIAN,), {"delta": [1e-5, 1e-6]}),
        (f"convert {GAUSSIAN} --epsilon 1", (GAUSSIAN,), {"epsilon": [1]}),
        ("select pure:epsilon=1 --runs fixed:n=2 --delta 1e-5,0",
         ("pure:epsilon=1",), {"runs": "fixed:n=2", "delta": [1e-5, 0]}),
        (f"subsample {GAUSSIAN} --q 0.1 --delta 1e-5,1e-6 -t", (GAUSSIAN,),
         {"q": 0.1, "delta": [1e-5, 1e-6]}),
    ],
)  # fmt: skip
def test_several_answers(
    line: str, specs: tuple[str, ...], keywords: dict[str, Any], run: Callable[..., Outcome]
) -> None:
    """A list has an answer for each of its numbers, and they are one table."""
    command, *arguments = line.split()
    found = getattr(privcalc, command)(*specs, **keywords)
    assert isinstance(found, privcalc.Results)
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    if arguments[-1] == "-t":
        printed = run(command, *arguments).stdout.splitlines()
        assert len(printed) == len(found) == 2
        return
    printed = run(command, *arguments, "--json").stdout.splitlines()
    assert [each.to_json() for each in found] == printed
    assert f"{found}\n" == run(command, *arguments).stdout
    markdown = run(command, *arguments, "--format", "markdown").stdout
    assert f"{found._repr_markdown_()}\n" == markdown


def test_a_list_that_is_one_question() -> None:
    """The epsilons of a profile are its points, and a mu is matched at one delta."""
    profile = privcalc.convert(GAUSSIAN, to="profile", epsilon=[1, 2])
    assert [place for place, _ in profile.curve] == [1.0, 2.0]
    assert privcalc.convert(GAUSSIAN, to="gdp", delta=[1e-5]).query == {"delta": 1e-5}


def test_prompts_and_notebooks() -> None:
    """A prompt has one line, a notebook the table."""
    answer = privcalc.compose(GAUSSIAN, delta=1e-5)
    assert repr(answer) == (
        "<privcalc.Result gaussian:sigma=3: epsilon [1.271087766, 1.271087767] at delta 1e-5>"
    )
    assert answer._repr_markdown_().startswith("**`gaussian:sigma=3`**\n\n| delta |")
    profile = privcalc.compose(GAUSSIAN)
    assert repr(profile) == "<privcalc.Result gaussian:sigma=3: delta at 21 values of epsilon>"
    noise = privcalc.calibrate("gaussian:sigma=_", mu=1)
    assert repr(noise) == "<privcalc.Result gaussian:sigma=1: sigma 1 is sufficient>"
    upper = privcalc.compose("zcdp:rho=1", delta="1%")
    assert repr(upper).endswith(f"epsilon at most {upper.epsilon.decimals()[1]} at delta 1%>")
    risk = privcalc.convert(GAUSSIAN, to="risk")
    assert repr(risk).startswith("<privcalc.Result gaussian:sigma=3: advantage [0.13")


@pytest.mark.slow
def test_pictures(tmp_path: Path) -> None:
    """A curve, or several answers, are figures; they are what the command line draws."""
    pytest.importorskip("matplotlib")
    profile = privcalc.compose(GAUSSIAN)
    file = tmp_path / "a.png"
    figure = profile.plot(file)
    assert file.read_bytes().startswith(b"\x89PNG")
    assert figure._repr_png_().startswith(b"\x89PNG")
    (axes,) = figure.axes
    assert axes.get_ylabel() == "delta"
    several = privcalc.compose(GAUSSIAN, delta=[1e-5, 1e-6, 1e-7])
    (axes,) = several.plot().axes
    assert np.asarray(axes.lines[0].get_xdata()).size == 3
    with pytest.raises(privcalc.UsageError, match="one number"):
        several[0].plot()
    with pytest.raises(privcalc.UsageError, match="got a"):
        profile.plot("a.gif")


def test_pictures_need_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setattr("privcalc.picture.picture.find_spec", lambda _: None)
    with pytest.raises(privcalc.UsageError, match="pip install"):
        privcalc.compose(GAUSSIAN).plot()


BUDGET = """[budget]
mu = 1
relation = "replace-one"
[[mechanism]]
name = "a"
spec = "gaussian:sigma=2"
[[mechanism]]
name = "b"
spec = "gaussian:sigma=1"
"""


def test_budget_files(tmp_path: Path, run: Callable[..., Outcome]) -> None:
    """They are checked as the command line checks them; what is wrong has its line."""
    file = tmp_path / "privacy.toml"
    file.write_text(BUDGET, encoding="utf-8")
    found = privcalc.check(file)
    assert found.verdict is privcalc.Verdict.EXCEEDED
    assert found.to_json() == run("compose", "--file", str(file), "--json").stdout.strip()
    assert str(found) == run("compose", "--file", str(file)).stdout.rstrip("\n")
    assert [row["name"] for row in found.to_dict()["result"]["mechanisms"]] == ["a", "b"]
    file.write_text(BUDGET.replace("mu = 1", "epsilon = 1\ndelta = 1e-5"), encoding="utf-8")
    found = privcalc.check(file)
    assert "would fit; b costs most" in str(found)
    assert str(found) == run("compose", "--file", str(file)).stdout.rstrip("\n")
    with pytest.raises(privcalc.FileError, match="holds under replace-one"):
        privcalc.check(str(file), relation="add-or-remove-one")
    file.write_text(BUDGET.replace("sigma=1", "sgma=1"), encoding="utf-8")
    with pytest.raises(privcalc.FileError) as caught:
        privcalc.check(file)
    assert (caught.value.line, caught.value.file) == (9, str(file))
    assert str(caught.value).endswith("gaussian has no parameter sgma (did you mean sigma?)")
    with pytest.raises(AttributeError, match="no budget was checked"):
        _ = privcalc.compose(GAUSSIAN, delta=1e-5).verdict


@pytest.mark.parametrize("spec", ["zcdp:rho=0.5", "laplace:scale=2", "rdp:order=9,epsilon=1"])
def test_the_curve_of_a_sample_is_a_guarantee(spec: str) -> None:
    """Its points are what the dominating pair costs, or else bounds from above."""
    found = privcalc.subsample(spec, q=0.01, orders=(2, 8))
    columns = found.to_dict()["result"]
    uppers = columns.get("exact", columns["upper"])
    for (order, bound), upper in zip(found.curve, uppers, strict=True):
        assert order in (2.0, 8.0)
        assert bound.upper == (upper["upper"] if isinstance(upper, dict) else upper)
