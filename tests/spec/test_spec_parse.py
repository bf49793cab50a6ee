"""Text -> tree -> text: what the grammar takes, how it refuses the rest, nothing lost."""

from __future__ import annotations

import json
import random
import shlex
import time
from typing import TYPE_CHECKING, cast

import jsonschema
import pytest

from man.schema import spec_schema
from privcalc.errors import PrivcalcError, SpecError
from privcalc.spec.entry import MAX_DEPTH
from privcalc.spec.hints import excerpt, marked
from privcalc.spec.json import from_json, loads, to_json
from privcalc.spec.parse import parse
from privcalc.spec.read import read
from privcalc.spec.registry import build, to_text
from privcalc.spec.syntax import MAX_LENGTH
from privcalc.spec.tree import HOLE, Composed, Leaf, Node, Parallel, Repeated, Wrapped
from tests.spec.spec_trees import extra_entries, ledger, random_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

GAUSS = Leaf("gaussian", (("standard_deviation", 1.0),))
LAPLACE = Leaf("laplace", (("scale", 2.0),))
BARE = Leaf("test_bare", ())


@pytest.fixture(autouse=True)
def _extra() -> Iterator[None]:
    with extra_entries():
        yield


def refused(text: str) -> SpecError:
    """Return the error of a text that must not parse."""
    with pytest.raises(SpecError) as caught:
        parse(text)
    return caught.value


def value(text: str) -> object:
    """Return what a number is read as."""
    tree = parse(f"test-kinds:noise=gaussian,mean={text}").tree
    assert isinstance(tree, Leaf)
    return dict(tree.parameters)["mean"]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("gaussian:sigma=1@3@_", Repeated(HOLE, Repeated(3, GAUSS))),
        (
            "gaussian:sigma=1@2 + laplace:scale=2@1_000",
            Composed((Repeated(2, GAUSS), Repeated(1000, LAPLACE))),
        ),
        ("MAX ( gaussian:sigma=1 , laplace:scale=2 )", Parallel((GAUSS, LAPLACE))),
        (
            "max(gaussian:sigma=1@3,max(test-bare,(laplace:scale=2)))@2",
            Repeated(2, Parallel((Repeated(3, GAUSS), BARE, LAPLACE))),
        ),
        (
            "max(gaussian:sigma=1+laplace:scale=2,test-bare)+test-bare",
            Composed((Parallel((Composed((GAUSS, LAPLACE)), BARE)), BARE)),
        ),
        ("((gaussian:sigma=1)+(laplace:scale=2))@2", Repeated(2, Composed((GAUSS, LAPLACE)))),
        (
            "(gaussian:sigma=1+(laplace:scale=2+gaussian:sigma=1))",
            Composed((GAUSS, LAPLACE, GAUSS)),
        ),
        (
            "gaussian:sigma=1@poisson:q=1%@5",
            Repeated(5, Wrapped("poisson_sampled", (("sampling_probability", 0.01),), GAUSS)),
        ),
        (
            "gaussian:sensitivity=3,sigma=_",
            Leaf("gaussian", (("standard_deviation", HOLE), ("sensitivity", 3.0))),
        ),
        (
            "test-spec:test=(gaussian:sigma=1+laplace:scale=2),mechanism=(laplace:scale=2@_)",
            Leaf(
                "test_spec",
                (("test", Composed((GAUSS, LAPLACE))), ("mechanism", Repeated(HOLE, LAPLACE))),
            ),
        ),
        (
            "tk:file=Data/x-1.CSV,monotone=TRUE,noise=two-sided,label=A-b,mean=-2.5,shift=-5",
            Leaf(
                "test_kinds",
                (
                    ("file_name", "Data/x-1.CSV"),
                    ("monotone", True),
                    ("noise", "two_sided"),
                    ("label", "a_b"),
                    ("mean", -2.5),
                    ("shift", -5),
                ),
            ),
        ),
        # The parameter decides: here `.5e3` is no number.
        (
            "tk:noise=gaussian,file=.5e3",
            Leaf("test_kinds", (("file_name", ".5e3"), ("noise", "gaussian"))),
        ),
    ],
)
def test_the_grammar(text: str, tree: Node) -> None:
    """Each construction gives its tree."""
    assert parse(text).tree == tree


NUMBERS = {
    "1_000.5": 1000.5, ".5": 0.5, "- 1": -1.0, "1e+5": 1e5, "1E-05": 1e-5, "-1/4": -0.25,
    "256 / 60_000": 256 / 60000, "1.1%": 0.011, "1/3 %": 1 / 300, "0e999": 0.0, "-0": 0.0,
    ".5/2": 0.25, "4e-324": 5e-324,
}  # fmt: skip


def test_numbers() -> None:
    """Numbers, ratios and percentages are the nearest doubles; there is no negative zero."""
    assert [repr(value(text)) for text in NUMBERS] == [*map(repr, NUMBERS.values())]


def test_the_end_of_the_text_is_marked() -> None:
    """Where something is missing at the end, the span is the empty one behind the text."""
    for text in ("", "  ", "gaussian:sigma=1+", "gaussian:sigma=1,"):
        assert (len(text), len(text)) == refused(text).span


def test_nesting_is_limited() -> None:
    """A hundred levels are read; more are refused, however they are written."""
    nested = "(" * MAX_DEPTH + "gaussian:sigma=1" + ")" * MAX_DEPTH
    assert parse(nested).tree == GAUSS
    chain = "gaussian:sigma=1" + "@1" * (MAX_DEPTH - 1)
    assert chain == to_text(parse(chain).tree)
    assert "nested deeper" in str(refused("(" * 5000))
    assert "nested deeper" in str(refused(f"({nested})"))
    assert "nested deeper" in str(refused(chain + "@1"))
    assert "nested deeper" in str(refused("gaussian:sigma=1" + "@1" * 4000))
    deep = "test-bare"
    for _ in range(MAX_DEPTH - 1):
        deep = f"test-spec:test=({deep})"
    assert deep == to_text(parse(deep).tree)
    assert "nested deeper" in str(refused(f"test-spec:test=({deep})"))


def test_length_is_limited() -> None:
    """A million characters are read, and not one more; the message shows a few of them."""
    longest = "gaussian:sigma=1".ljust(MAX_LENGTH)
    assert parse(longest).tree == GAUSS
    error = refused(longest + " ")
    assert "1,000,000 characters" in str(error)
    assert error.span == (MAX_LENGTH, MAX_LENGTH + 1)


@pytest.mark.slow
def test_thousands_of_terms_are_read() -> None:
    """A ledger of many entries comes back from its text, and from its twin."""
    tree = ledger(3_000)
    assert parse(to_text(tree)).tree == tree
    assert loads(json.dumps(to_json(tree))) == tree


@pytest.mark.slow
def test_long_words_are_cut_in_messages() -> None:
    """Of names, keys, words, files and numbers of a million characters forty are shown."""
    word = "g" * 900_000
    for text in (
        word,
        f"gaussian:{word}=1",
        f"gaussian:sigma={word}",
        f"noisy-max:noise={word}",
        f"gaussian:sigma=1@{word}",
        f"pmf:file=./{word}",
        f"opacus:file=./{word}",
        f"gaussian:sigma={'1' * 900_000}",
        f"gaussian:sigma=1@{'1' * 900_000}",
    ):
        with pytest.raises(PrivcalcError) as caught:
            build(cast("Leaf", parse(text).tree))
        shown = marked(caught.value) if isinstance(caught.value, SpecError) else str(caught.value)
        assert len(shown) < 800


def test_long_numbers_cost_no_time() -> None:
    """Thousands of digits are refused, or read, at once and without Python's own error."""
    start = time.perf_counter()
    digits = "9" * 9_000
    assert "at most" in str(refused(f"gaussian:sigma=1@{digits}"))
    assert "too large" in str(refused(f"gaussian:sigma={digits}"))
    assert "too large" in str(refused(f"rr:p=0.5,categories={digits}"))
    assert "at most 1e15 in size" in str(refused(f"rr:p=0.5,categories={digits[:99]}"))
    assert "at most 800 digits" in str(refused(f"pure:epsilon=0.{digits}"))
    assert value(f"0.{digits[:790]}") == 1.0
    assert parse(f"gaussian:sigma=1@{'0' * 5000}7").tree == Repeated(7, GAUSS)
    assert time.perf_counter() - start < 5


def test_spans_of_a_specification() -> None:
    """Nodes, values and counts each have the span of what was written for them."""
    text = "( laplace:scale = 2@3 ) @ poisson : q = 1 / 4"
    parsed = parse(text)
    words = {path: text[slice(*span)] for path, span in parsed.spans.items()}
    assert {
        (): text,
        ("sampling_probability",): "1 / 4",
        ("event",): "laplace:scale = 2@3",
        ("event", "count"): "3",
        ("event", "event"): "laplace:scale = 2",
        ("event", "event", "scale"): "2",
    } == words


def test_tabs_keep_the_caret_in_place() -> None:
    """A tab is shown as a space, a control character as `?`."""
    error = SpecError("bad", text="a\tb\x1bxyc", span=(6, 7))
    assert marked(error).split("\n") == ["bad", "  a b?xyc", "        ^"]


def test_spaces_and_capitals_change_nothing() -> None:
    """Spaces and tabs between tokens, capitals and dashes for underscores give the same tree."""
    rng = random.Random(3)
    for _ in range(300):
        tree = random_tree(rng)
        text = to_text(tree)
        spaced = "".join(
            f"{rng.choice(('', ' ', chr(9)))}{c} " if c in "@(),:=" else c for c in text
        )
        assert tree == parse(spaced).tree, spaced
    assert parse("gaussian:sigma=1@poisson:q=0.5") == parse("gaussian:sigma=1@poisson:q=0.5")
    plain = parse("rr:p=0.6@poisson:q=0.5").tree
    assert plain == parse("RANDOMIZED_response:Probability=0.6@Poisson-Sampled:Q=0.5").tree


@pytest.mark.slow
def test_every_span_holds_the_text_of_its_part() -> None:
    """The text under the span of a node reads back as that node, wherever it stands."""
    rng = random.Random(4)
    for _ in range(500):
        text = to_text(random_tree(rng))
        parsed = parse(text)
        twin = to_json(parsed.tree)
        for path, (start, stop) in parsed.spans.items():
            part: object = twin
            for step in path:
                part = part[step]  # type: ignore[index]
            if isinstance(part, dict):
                assert from_json(part) == parse(text[start:stop]).tree
            else:
                assert 0 <= start < stop <= len(text)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("Gaussian : standard-deviation = 1e-5", "gaussian:sigma=1e-05"),
        ("gaussian:sensitivity=2,sigma=5.0", "gaussian:sigma=5,sensitivity=2"),
        ("rr:p=75%", "randomized-response:p=0.75"),
        ("gaussian:sigma=1@poisson-sampled:q=1/4@1_000", "gaussian:sigma=1@poisson:q=0.25@1000"),
        ("((gaussian:sigma=1)+(pure:epsilon=1))@2", "(gaussian:sigma=1+pure:epsilon=1)@2"),
    ],
)
def test_canonical_text(written: str, canonical: str) -> None:
    """Short spellings, the order of the registry, no spaces, no parentheses that say nothing."""
    assert canonical == to_text(parse(written).tree)


@pytest.mark.parametrize(
    ("fault", "there"),
    [
        ("!", "!"),
        ("+gausian:sigma=1", "gausian"),
        ("@2e3", "2e3"),
        ("+gaussian:sigma=-1", "-1"),
        (f"@{'9' * 500}", "9"),
    ],
)
def test_errors_in_a_long_text_show_their_place(fault: str, there: str) -> None:
    """Two lines of 80 columns with the caret under the fault, however long the text is."""
    before = to_text(ledger(2_000))
    said, text, markers, *_ = marked(refused(f"{before}{fault}+{before}")).splitlines()
    assert len(said) < 200
    assert (text[:5], text[-3:]) == ("  ...", "...")
    assert max(len(text), len(markers)) <= 80
    assert text[markers.index("^") :].startswith(there)


@pytest.mark.slow
@pytest.mark.parametrize("count", [700, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_trees_survive_both_forms(count: int) -> None:
    """Trees with every kind of value are equal after text and after JSON; the text is canonical.

    Text without parentheses is safe in a shell as it stands, and the schema accepts the JSON.
    """
    schema = jsonschema.Draft202012Validator(spec_schema())
    rng = random.Random(count)
    for k in range(count):
        tree = random_tree(rng)
        text, twin = to_text(tree), json.dumps(to_json(tree))
        from_text, from_twin = read(text), read(twin)
        assert from_text.tree == from_twin.tree == tree, text
        assert from_text.text == from_twin.text == text == to_text(from_text.tree)
        if "(" not in text:
            assert text == shlex.quote(text)
        if k % 7 == 0:
            schema.validate(json.loads(twin))


def test_an_excerpt_of_a_long_text_has_the_same_letters_marked() -> None:
    """Errors in JSON have the part around the mistake, and where it is in that."""
    text = "a" * 30_000 + "wrong" + "b" * 30_000
    part, (start, stop) = excerpt(text, (30_000, 30_005))
    assert part[start:stop] == "wrong"
    assert len(part) < len(text)
