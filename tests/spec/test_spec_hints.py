"""What a hint writes has every number that was typed, with its meaning; or it writes none."""

# ruff: noqa: RUF001  (signs that look like others are what this is about)

from __future__ import annotations

import math
import random
import re
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from privcalc.commands import meant, values
from privcalc.errors import PrivcalcError, SpecError, UsageError
from privcalc.opened import table
from privcalc.spec.parse import parse
from privcalc.spec.read import read
from privcalc.spec.registry import mechanisms, to_text, wrappers
from privcalc.spec.tree import Count, Repeated

if TYPE_CHECKING:
    from collections.abc import Iterator

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
# What was typed, and the one specification that says it.
WHOLE = {
    "epsilon=2.38,delta=1e-5": "approx:epsilon=2.38,delta=1e-5",
    "delta=1e-5, epsilon=2.38@3": "approx:epsilon=2.38,delta=1e-5@3",
    "dp:epsilon=1,delta=1e-5": "approx:epsilon=1,delta=1e-5",
    "dp:eps=1,delta=1e-5@10": "approx:epsilon=1,delta=1e-5@10",
    "dp:1,1e-5+laplace:scale=2": "approx:epsilon=1,delta=1e-5+laplace:scale=2",
    "dp:epsilon=1": "pure:epsilon=1",
    "pure:epsilon=1,delta=1e-5@2": "approx:epsilon=1,delta=1e-5@2",
    "gaussian:sigma=10^2": "gaussian:sigma=1e2",
    "pure:epsilon=2e-3*10^2": "",
    "(1e-5,1)": "",
    "dp:1@3": "pure:epsilon=1@3",
    "approx:1,1e-5": "approx:epsilon=1,delta=1e-5",
    "approx-dp:1,10⁻⁵": "approx:epsilon=1,delta=1e-5",
    "(1,1e-5)": "approx:epsilon=1,delta=1e-5",
    "(ε=1, δ=10⁻⁵)": "approx:epsilon=1,delta=1e-5",
    "discrete-gaussian:sigma2=25": "discrete-gaussian:variance=25",
    "discrete-gaussian:sigma^2=25@4": "discrete-gaussian:variance=25@4",
    "discrete-gaussian:sigma**2=25": "discrete-gaussian:variance=25",
    "discrete-gaussian:sigma²=25": "discrete-gaussian:variance=25",
    "gaussian:σ²=25,sensitivity=2": "gaussian:variance=25,sensitivity=2",
    "gaussian:σ=2.5@poisson:q=1％@100": "gaussian:sigma=2.5@poisson:q=1%@100",
    "gaussian:ρ=0.5": "gaussian:rho=0.5",
    "gdp:μ=0.5": "gdp:mu=0.5",
    "pure:ε=0.5": "pure:epsilon=0.5",
    "approx:epsilon=1,delta=10^-5": "approx:epsilon=1,delta=1e-5",
    "approx:epsilon=1,delta=10**-5": "approx:epsilon=1,delta=1e-5",
    "approx:epsilon=1,delta=10^{-5}": "approx:epsilon=1,delta=1e-5",
    "approx:epsilon=1,delta=2*10^(-5)@3": "approx:epsilon=1,delta=2e-5@3",
    "approx:epsilon=1,delta=1×10⁻⁵": "approx:epsilon=1,delta=1e-5",
    "approx:epsilon=1,delta=2.5 · 10−5": "",
    "approx:epsilon=1,delta=2.5 · 10^−5": "approx:epsilon=1,delta=2.5e-5",
    "approx:epsilon=1,delta=3x10^-12": "approx:epsilon=1,delta=3e-12",
    "approx:epsilon=1,delta=1e−5": "approx:epsilon=1,delta=1e-5",
    "approx:epsilon=1,delta=1e–5": "approx:epsilon=1,delta=1e-5",
    "gaussian:sigma=“2.5”": "gaussian:sigma=2.5",
    "“gaussian:sigma=2.5”": "gaussian:sigma=2.5",
    "gaussian:sigma=2.5@60×60000÷256": "gaussian:sigma=2.5@60*60000/256",
    "gaussian sigma=2.5, sensitivity=3@7": "gaussian:sigma=2.5,sensitivity=3@7",
    "pure:epsilon=2@10^3": "pure:epsilon=2@1_000",
    "sigma=2.5,sensitivity=3@7": "gaussian:sigma=2.5,sensitivity=3@7",
    "noisy-max:scale=10": "noisy-max:scale=10,candidates=NUMBER",
    "laplace:b=2.5,steps=7": "laplace:scale=2.5@7",
    "gauss:sd=2.5,q=0.01@7": "gaussian:sigma=2.5@poisson:q=0.01@7",
    "gaussian:std=2@users:n=3+krr:k=4,p=0.5": "gaussian:sigma=2@group:k=3+rr:categories=4,p=0.5",
    "gaussian:2.5@poisson:0.01@7": "gaussian:sigma=2.5@poisson:q=0.01@7",
    "gaussian:sigma=2.5@poisson(0.01)@7steps": "gaussian:sigma=2.5@poisson:q=0.01@7",
    "gaussian:sigma=2.5@1,000,000": "gaussian:sigma=2.5@1_000_000",
    "gaussian:sigma=2.5@poisson:q=256/60,000@7": "gaussian:sigma=2.5@poisson:q=256/60000@7",
    "gaussian:sigma=2.5@clients:n=1000,m=10@7": "gaussian:sigma=2.5@clients:q=10/1000@7",
    "gaussian:sigma=2.5@shuffle:b=256,n=60000@7": "gaussian:sigma=2.5@batches:n=60000,b=256@7",
    "gaussian:sigma=2.5@wor:m=256@7": "gaussian:sigma=2.5@wor:m=256,n=NUMBER@7",
    "gaussian@poisson:q=0.01@7": "gaussian:sigma=NUMBER@poisson:q=0.01@7",
    "rdp:orders=32,epsilons=2.5@7": "rdp:order=32,epsilon=2.5@7",
    "renyi:order=32": "rdp:order=32,epsilon=NUMBER",
    "gaussian:sigma=sqrt(5)@7": "gaussian:variance=5@7",
    "gaussian:sigma=2.5,laplace:scale=3@7": "gaussian:sigma=2.5+laplace:scale=3@7",
    "max(gaussian:sigma=2.5,laplace:b=3)": "max(gaussian:sigma=2.5,laplace:scale=3)",
    "tree:sigma=2,steps=7": "matrix-gaussian:strategy=tree,sigma=2,steps=7",
}
# The number of runs, as it is typed after a mechanism; the same for the option and in a sum.
RUNS = {
    "@select:geometric:mean=20": "@select:runs=geometric:mean=20",
    "@select:geometric,mean=20": "@select:runs=geometric:mean=20",
    "@geometric:mean=20": "@select:runs=geometric:mean=20",
    "@poisson:mean=20": "@select:runs=poisson:mean=20",
    "@select:binomial:n=30,p=0.2": "@select:runs=binomial:n=30,p=0.2",
    '@select:runs="geometric:mean=20"': "@select:runs=geometric:mean=20",
    "@select:runs=(tnb:shape=2,mean=20)@3": "@select:runs=tnb:shape=2,mean=20@3",
}
FORM = re.compile(
    r"write (.+?)(?:, not .*| with .*| to repeat .*| for .*|, (?:which|the|where|or|an) .*|; .*|$)"
)
NUMBER = re.compile(
    r"(?:(?<![\w.^])|(?<=[0-9]x))[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?%?(?![a-wyz_^])"
)


def refused(text: str) -> SpecError | None:
    """Return the error of a text; None where it can be read."""
    try:
        read(text)
    except SpecError as error:
        return error
    return None


def numbers(text: str) -> Counter[Fraction]:
    """Return what numbers stand in a text of plain signs; 10k is 10000, and 1/2 an inverse 2."""
    text = text.replace("=1/", "=")
    text = re.sub(r"(?<=[@/])([0-9]{1,3}),([0-9]{3})(?:,([0-9]{3}))?(?![0-9])", r"\1\2\3", text)
    text = re.sub(r"(?<=[0-9])[kK]\b", "000", re.sub(r"(?<=[0-9])[mM]\b", "000000", text))
    text = re.sub(r"(?<=[0-9])_?(?:epochs?|steps)\b", "", text.replace("percent", "%"))
    found = (each.replace("_", "") for each in NUMBER.findall(text))
    return Counter(Fraction(n.rstrip("%")) / (100 if n.endswith("%") else 1) for n in found)


def worked_out(text: str) -> str:
    """Return a text with the decimals of functions in their places."""
    known = {"sqrt": math.sqrt, "ln": math.log}
    function = re.compile(rf"\b({'|'.join(known)})\(([0-9.]+)\)")
    return function.sub(lambda found: str(known[found[1]](float(found[2]))), text)


def same(form: str, text: str) -> bool:
    """Say whether a form has the numbers of a text; of epochs some stand twice, in a product."""
    found, typed = numbers(form), [numbers(text), numbers(worked_out(text))]
    return found in typed or ("*" in form and set(found) == set(typed[0]))


def applied(text: str, span: tuple[int, int], form: str) -> Iterator[str]:
    """Yield texts with a form in the place of what is marked, or of the pair or call around it."""
    starts = {span[0], *(m.end() for m in re.finditer(r"^|[@+(,:;= ]", text[: span[0]]))}
    starts |= {m.start() for m in re.finditer(r"@|[^@+(,:;= ]*$", text[: span[1]])}
    ends = {m.start() for m in re.finditer(r"$|[@+),;= ]", text) if m.start() >= span[0]}
    ends |= {span[1]}
    for start, end in product(starts, ends):
        if start <= end:
            yield text[:start] + form + text[end:]


def complete(text: str) -> bool:
    """Say whether a text can be read, but for parameters that lack and numbers out of range."""
    error = refused(text)
    return error is None or bool(
        re.search(" needs | must be | takes a | do not go together", error.message)
    )


def keeps(text: str, span: tuple[int, int], hint: str) -> bool:
    """Say whether what a hint writes can be put where it belongs, and nothing typed is lost."""
    found = FORM.search(hint)
    if found and found[1].startswith("--"):
        return same(found[1], text)
    if found is None or "file=" in hint or not numbers(found[1]):
        return True
    forms = [each.strip(" ,") for each in re.split(r",? or ", found[1])]
    return all(
        not numbers(form)
        or any(
            same(each, text) and (re.search(r"=[A-Z]+|/[A-Z]+", form) or complete(each))
            for each in applied(text, span, form)
        )
        for form in forms
    )


@pytest.mark.parametrize(("typed", "meant_"), WHOLE.items())
def test_a_hint_is_what_was_typed(typed: str, meant_: str) -> None:
    """The whole of it is written, in plain signs and with names; and can be read."""
    error = refused(typed)
    assert error is not None
    if not meant_:
        assert "write" not in error.hint or not numbers(error.hint.partition(";")[0])
        return
    assert error.hint == f"write {meant_}"
    assert "NUMBER" in meant_ or refused(meant_) is None


@pytest.mark.parametrize("name", ["dpsgd", "gaussian", "sgm"])
@pytest.mark.parametrize("keys", [*permutations(["sigma=1.1", "q=0.01", "steps=1000"])])
def test_keys_of_a_run_in_any_order(name: str, keys: tuple[str, ...]) -> None:
    """They are read, once applied, as the mechanism, its sampling and its count."""
    error = refused(f"{name}:{','.join(keys)}")
    assert error is not None
    assert error.hint == "write gaussian:sigma=1.1@poisson:q=0.01@1000"


@pytest.mark.parametrize(
    "keys", [*permutations(["noise_multiplier=1.1", "batch_size=256", "n=60000", "epochs=60"])]
)
def test_epochs_of_a_run_are_worked_out(keys: tuple[str, ...]) -> None:
    """Epochs x records / batch size are its steps, in whatever order they are typed."""
    error = refused(f"dpsgd:{','.join(keys)}")
    assert error is not None
    tree = parse(error.hint.removeprefix("write ")).tree
    assert tree == parse("gaussian:noise_multiplier=1.1@poisson:q=256/60000@14063").tree


def test_parts_of_max_stay_parts() -> None:
    """Whatever else is mended within, no part becomes one of a sum."""
    for inner in ("gaussian:sd=2,laplace:b=3", "gauss:sigma=2,lap:scale=3", "pure:2,pure:3"):
        error = refused(f"max({inner})@7")
        assert error is not None
        assert "+" not in error.hint


@pytest.mark.parametrize(("typed", "meant_"), RUNS.items())
def test_runs_are_said_in_one_way(typed: str, meant_: str) -> None:
    """What --runs takes is taken after runs=, and what is nearly that is written so."""
    error = refused(f"gaussian:sigma=10{typed}")
    assert error is not None
    assert error.hint == f"write gaussian:sigma=10{meant_}"
    comma = meant_.replace("runs=", "").replace(":", ",").replace("@select,", "@select:runs=")
    assert parse(f"gaussian:sigma=10{meant_}").tree == parse(f"gaussian:sigma=10{comma}").tree


def test_a_colon_goes_on_after_runs_alone() -> None:
    """Any other value with a colon behind it is refused as before."""
    for text in ("gaussian:sigma=1@poisson:q=0.1:r=2", "noisy-max:noise=gaussian:sigma=2"):
        assert refused(text) is not None
    text = to_text(parse("pure:epsilon=1@select:runs=tnb:shape=1,mean=3@2").tree)
    assert text == "pure:epsilon=1@select:runs=tnb,mean=3,shape=1@2"


@pytest.mark.parametrize(
    ("written", "count", "note"),
    [
        ("60*60000/256", 14063, "60*60000/256 is 14062.5"),
        ("60 * 256", 15360, ""),
        ("14_063*2", 28126, ""),
        ("9/3", 3, ""),
        ("10/3", 4, "10/3 is 3.333333333"),
        ("7*6/5/4*3", 7, "7*6/5/4*3 is 6.3"),
    ],
)
def test_counts_are_worked_out(written: str, count: int, note: str) -> None:
    """A product or a quotient is the next whole number, and remembers that it was none."""
    tree = parse(f"pure:epsilon=1@{written}").tree
    assert isinstance(tree, Repeated)
    assert tree.count == count
    assert isinstance(tree.count, Count)
    assert tree.count.written == note
    assert to_text(tree) == f"pure:epsilon=1@{count}"
    assert values.read_count("--count", written) == count


@pytest.mark.parametrize(
    "written",
    [
        "7" + "/7" * 1000,
        "256/60000",
        "2/0",
        "3*0",
        "1000000000*1000000000",
        "2*",
        "/2",
        "2*x",
        "2*1.5",
        "2**3",
    ],
)
def test_what_is_no_count(written: str) -> None:
    """Less than one, more than the most, and what is no whole number."""
    error = refused(f"pure:epsilon=1@{written}")
    assert error is not None
    assert "write" not in error.hint or not numbers(error.hint.partition(";")[0])


@pytest.mark.parametrize(
    ("written", "ratio"),
    [
        ("4*64/60000", "256/60000"),
        ("0.5*64/60000", "32/60000"),
        ("3 * 1 / 8", "3/8"),
        ("2*1.5*10/4%", "30/4%"),
    ],
)
def test_products_over_something(written: str, ratio: str) -> None:
    """A ratio may have a product above; a product alone may be meant as a count."""
    assert parse(f"pure:epsilon={written}").tree == parse(f"pure:epsilon={ratio}").tree
    assert values.read_delta("--delta", written) == values.read_delta("--delta", ratio)
    error = refused(f"pure:epsilon={written.partition('/')[0]}")
    assert error is not None
    assert refused(f"pure:epsilon={'9*' * 500}9/9") is not None


def test_options_name_plain_numbers() -> None:
    """Powers of ten and typographic signs are named for options as in specifications."""
    for typed in ("10^-5", "10**-5", "1×10⁻⁵", "1e−5", "1x10^{-5}", "“1e-5”", "δ=1e-5", "10⁻⁵"):
        with pytest.raises(UsageError) as caught:
            values.read_delta("delta", typed)
        assert caught.value.hint == "write 1e-5"


def test_hints_of_transcripts_keep_numbers() -> None:
    """Each hint that is recorded, put where it belongs, has the numbers of its line."""
    seen, line, lost = 0, "", []
    for file in sorted(TRANSCRIPTS.glob("*.txt")):
        lines = file.read_text(encoding="utf-8").split("\n")
        for said, shown, marks, hint in zip(lines, lines[1:], lines[2:], lines[3:], strict=False):
            # Of several specifications one is shown.
            line = said.partition(" --")[0] if said.startswith("$ ") else line
            found = re.fullmatch(r"!   ( *)(\^+)", marks)
            if found and shown.startswith("!   ") and "write" in hint and "..." not in shown:
                span = len(found[1]), len(found[1]) + len(found[2])
                seen += bool(numbers(hint))
                # Of powers and other signs, and of --runs, see above.
                plain = (
                    "--runs" not in said and shown.isascii() and not re.search(r"\^|\*\*", shown)
                )
                form = FORM.search(hint)
                several = form and " " in line.partition("compose ")[2] and same(form[1], line)
                if plain and not several and not keeps(shown[4:], span, hint):
                    lost.append((shown, hint))
    assert not lost
    assert seen > 40


def _made() -> Iterator[str]:
    """Yield mistakes with every word that there is a hint for."""
    rows: Any = table("spec", "foreign.toml")
    examples = {each.spelling: each for each in (*mechanisms(), *wrappers())}
    for row in rows["mechanism"] + rows["word"]:
        for name in row["names"].split():
            yield f"{name}:epsilon=2.5,delta=1e-5@7"
            yield f"{name}:scale=2.5@7+pure:epsilon=3"
            yield f"{name}=2.5,delta=1e-5"
            yield f"{name}(sigma=2.5)@7"
            yield f"{name}:2.5"
    for row in rows["wrapper"] + rows["word"]:
        for name in row["names"].split():
            yield f"gaussian:sigma=3@{name}:q=0.25@7"
            yield f"gaussian:sigma=3@{name}@7"
    for row, (name, entry) in product(rows["parameter"] + rows["word"], examples.items()):
        if not {name, entry.kind, "every"} & set(row.get("of", "every").split()):
            continue
        before = "gaussian:sigma=3@" if entry.kind == "wrapper" else ""
        for key in row["names"].split():
            if entry.spelled(key) is None:
                yield f"{before}{name}:{key}=2.5@7"


@pytest.mark.slow
def test_hints_for_all_words_keep_numbers() -> None:
    """What is written instead of other tools' words has all numbers or has none."""
    lost = []
    for text in _made():
        error = refused(text)
        if error is not None and not keeps(text, error.span, error.hint):
            lost.append((text, error.hint))
    assert not lost


def test_what_is_no_hint_of_another_question() -> None:
    """Options of the wrong command, with what the right one is called."""
    known = ["--delta", "--count", "--q"]
    assert meant.for_option("--steps", known, "subsample") == "write --count"
    assert meant.for_value("pld", ["dp", "tradeoff"]).startswith("write profile")
    assert meant.for_value("pld", ["fft", "rdp"]).startswith("write fft")


EDITS: tuple[tuple[str, str], ...] = (
    (":", " "), (":", "/"), ("=", ":"), ("=", " "), (",", " "), (",", ";"), ("@", " x"),
    ("sigma", "noise"), ("epsilon", "eps"), ("scale", "b"), ("p=", ""), ("q=", "rate="), ("(", "["),
    ("poisson", "sampled"), ("gaussian", "normal"), ("-", "_"), (".", ","), ("=", "=="),
    ("@", "*"), ("@", "@n="),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_slips_of_examples_keep_their_numbers(seed: int) -> None:
    """What a hint writes for a line, after one or two edits of an example, has all numbers."""
    rng = random.Random(seed)
    number = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?")
    asked = 0
    for entry in (*mechanisms(), *wrappers()):
        text = entry.example
        for _ in range(4):
            slip = text
            for before, after in rng.sample(EDITS, rng.randint(1, 2)):
                slip = slip.replace(before, after, 1)
            try:
                read(slip)
            except SpecError as error:
                found = re.fullmatch(r"write ([a-z][a-z-]*:[^ ]*)", error.hint)
                if found and not re.search(r"=[A-Z]", found[1]):
                    asked += 1
                    assert sorted(number.findall(found[1])) == sorted(number.findall(slip)), slip
                    read(found[1])
            except PrivcalcError:
                pass
    assert asked > 3
