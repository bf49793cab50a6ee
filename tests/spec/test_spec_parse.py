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
from privcalc.spec.hints import marked
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
        ("gaussian:sigma=1", GAUSS),
        ("gaussian:sigma=1@3@_", Repeated(HOLE, Repeated(3, GAUSS))),
        ("gaussian:sigma=1+laplace:scale=2", Composed((GAUSS, LAPLACE))),
        (
            "gaussian:sigma=1@2+laplace:scale=2@1_000",
            Composed((Repeated(2, GAUSS), Repeated(1000, LAPLACE))),
        ),
        ("max(gaussian:sigma=1,laplace:scale=2)", Parallel((GAUSS, LAPLACE))),
        ("MAX ( gaussian:sigma=1 , laplace:scale=2 )", Parallel((GAUSS, LAPLACE))),
        ("max(test-bare,(laplace:scale=2))", Parallel((BARE, LAPLACE))),
        (
            "max(gaussian:sigma=1@3,max(test-bare,laplace:scale=2))@2",
            Repeated(2, Parallel((Repeated(3, GAUSS), BARE, LAPLACE))),
        ),
        (
            "max(gaussian:sigma=1+laplace:scale=2,test-bare)+test-bare",
            Composed((Parallel((Composed((GAUSS, LAPLACE)), BARE)), BARE)),
        ),
        ("(gaussian:sigma=1+laplace:scale=2)@2", Repeated(2, Composed((GAUSS, LAPLACE)))),
        (
            "(gaussian:sigma=1+(laplace:scale=2+gaussian:sigma=1))",
            Composed((GAUSS, LAPLACE, GAUSS)),
        ),
        ("((gaussian:sigma=1))", GAUSS),
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
        ("test-bare@ts:n=100,m=10", None),
        ("test-bare + test-bare", Composed((BARE, BARE))),
    ],
)
def test_the_grammar(text: str, tree: Node | None) -> None:
    """Each construction gives its tree."""
    read = parse(text).tree
    assert tree is None or tree == read


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0),
        ("1_000.5", 1000.5),
        (".5", 0.5),
        ("-1", -1.0),
        ("- 1", -1.0),
        ("1e+5", 1e5),
        ("1E-5", 1e-5),
        ("1e-05", 1e-5),
        ("256/60000", 256 / 60000),
        ("256 / 60_000", 256 / 60000),
        ("-1/4", -0.25),
        ("1.1%", 0.011),
        ("1/3 %", 1 / 300),
        ("0/5", 0.0),
        ("0e999", 0.0),
        ("-0", 0.0),
        (".5/2", 0.25),
        ("4e-324", 5e-324),
    ],
)
def test_numbers(text: str, number: float) -> None:
    """Numbers, ratios and percentages are the nearest doubles; there is no negative zero."""
    assert repr(number) == repr(value(text))


def test_a_file_that_looks_like_a_number_is_a_file() -> None:
    """The parameter decides: `.5` is a file where a file belongs."""
    tree = parse("test-kinds:noise=gaussian,file=.5e3").tree
    assert isinstance(tree, Leaf)
    assert ("file_name", ".5e3") in tree.parameters


@pytest.mark.parametrize(
    ("text", "marked", "message", "hint"),
    [
        # The traps of the first draft.
        ("gaussian:sigma=1@0_", "0_", "digits", "between two digits"),
        ("gaussian:sigma=1e999", "1e999", "too large", ""),
        ("gaussian:sigma=1e-999", "1e-999", "too small", ""),
        ("gaussian:sigma=1@poisson:q=1/0", "1/0", "division by zero", ""),
        ("gaussian:sigma=1/1e999999999", "1/1e999999999", "cannot read", "three digits"),
        ("gaussian:sigma=1e0001", "1e0001", "cannot read", "three digits"),
        ("composed:events=1", "composed", "JSON", "compose with +"),
        ("gaussian:sigma=1@self-composed:count=3", "self-composed", "JSON", "@COUNT"),
        ("gaussian:type=1", "type", "no parameter type", "sigma"),
        ("gaussian:sigma=1@poisson:q=1,event=2", "event", "no parameter event", "q"),
        ("gaussian:sigma=\N{ARABIC-INDIC DIGIT ONE}", "\N{ARABIC-INDIC DIGIT ONE}", "no value", ""),
        ("gaussian:sigma=1@\N{ARABIC-INDIC DIGIT ONE}", "\N{ARABIC-INDIC DIGIT ONE}", "digits", ""),
        ("gaussian:sigma=1,sigma=1", "sigma", "sigma is given twice", ""),
        ("gaussian:sigma=1,standard_deviation=1", "standard_deviation", "given twice", ""),
        # Natural mistakes.
        ("gaussian(sigma=1.1)", "(", "colon", "write gaussian:sigma=1.1, not gaussian(sigma=1.1)"),
        ("gaussian(1.1)", "(", "colon", "write gaussian:sigma=NUMBER"),
        ("gaussian:1.1", "1.1", "KEY=VALUE", "gaussian:sigma=1.1"),
        ("gaussian sigma=1.1", "s", "colon", "write gaussian:sigma=1.1"),
        ("gaussian,sigma=1.1", ",", "colon", "write gaussian:sigma=1.1"),
        ("gaussian:sigma:1", ":", "equals sign", "write sigma=VALUE"),
        ("gaussian:sigma", "sigma", "value", "sigma=VALUE"),
        ("gaussian:sigma=", "sigma", "no value", "sigma=VALUE"),
        ("gaussian:sigma=,sensitivity=1", "sigma", "no value", "sigma=VALUE"),
        ("gaussian:sigma=1@1e6", "1e6", "digits", "write 1_000_000"),
        ("gaussian:sigma=1@10k", "10k", "digits", "write 10_000"),
        ("gaussian:sigma=1@-3", "-3", "digits", "whole number"),
        ("gaussian:sigma=1@1.5", "1.5", "digits", "whole number"),
        ("gaussian:sigma=1@0", "0", "at least 1", ""),
        ("gaussian:sigma=1@", "@", "count or a wrapper", "@1000"),
        ("gaussian:sigma=1@count=3", "count", "expected before", "write @3"),
        ("gaussian:sigma=1*14000", "*", "not expected", "write @14000"),
        (
            "gaussian:sigma=1\N{MULTIPLICATION SIGN}3",
            "\N{MULTIPLICATION SIGN}",
            "not expected",
            "write @3 to repeat 3 times",
        ),
        ("gaussian:sigma=1*100", "*", "not expected", "write @100 to repeat 100 times"),
        ("gaussian:sigma=1 ** 7", "*", "not expected", "write @7 to repeat 7 times"),
        ("gaussian:sigma=1*1e3", "*", "not expected", "write @14000 to repeat"),
        # What other tools call the parts of a training run.
        ("gaussian:sigma=1,sample_rate=0.01", "sample_rate", "no par", "@poisson:q=0.01"),
        ("gaussian:sigma=1,sample-rate=1/7", "sample-rate", "no par", "@poisson:q=1/7"),
        ("gaussian:sigma=1,steps=100", "steps", "no par", "repeated: @100"),
        ("gaussian:sigma=1,steps=1e3", "steps", "no par", "repeated: @STEPS"),
        ("gaussian:sigma=1,epochs=3", "epochs", "no par", "epochs x records / batch size"),
        ("gaussian:sigma=1,batch_size=64", "batch_size", "no par", "@poisson:q=64/RECORDS"),
        ("gaussian:sigma=1@poisson:batch_size=64", "batch_size", "no par", ": q=64/RECORDS"),
        ("gaussian:sigma=1@poisson:sample_rate=1%", "sample_rate", "no par", "write q=1%"),
        ("gaussian:sigma=1@poisson:q=1%,steps=9", "steps", "no par", "repeated: @9"),
        ("gaussian:sigma=1@sample_rate=0.1", "sample_rate", "before", "@poisson:q=0.1"),
        ("batch_size=64", "batch_size", "mechanism", "@poisson:q=64/RECORDS"),
        ("dpsgd:sigma=1", "dpsgd", "unknown", "gaussian:sigma=NOISE@poisson:q=BATCH/RECORDS@ST"),
        ("DP-SGD:sigma=1", "DP-SGD", "unknown", "DP-SGD is gaussian:sigma=NOISE"),
        ("gaussian:sigma=1@epochs:n=3", "epochs", "unknown", "count steps"),
        ("gaussian:sigma=1k", "1k", "cannot read", "zeros"),
        ("gaussian:sigma=1.", "1.", "cannot read", "follow the point"),
        ("gaussian:sigma=1/n", "1/n", "cannot read", "256/60000"),
        ("gaussian:sigma=inf", "inf", "a number", "finite"),
        ("gaussian:sigma=\N{MINUS SIGN}1", "\N{MINUS SIGN}", "no value", "write - for minus"),
        (
            "gaussian:\N{GREEK SMALL LETTER SIGMA}=1",
            "\N{GREEK SMALL LETTER SIGMA}",
            "parameter",
            "write sigma",
        ),
        ("gaussian:sigma=_%", "_", "whole value", ""),
        ("gaussian:sigma=1/_", "1/_", "cannot read", "whole value"),
        ("sigma=1.1", "sigma", "mechanism", "write gaussian:sigma=1.1"),
        ("@10", "@", "mechanism", "mechanism comes first"),
        ("gaussian:sigma=1++pure:epsilon=1", "+", "mechanism", "once"),
        ("gaussian:sigma=1 pure:epsilon=1", "p", "not expected", "compose with +"),
        ("gaussian:sigma=1;pure:epsilon=1", ";", "not expected", "compose with +"),
        ("(gaussian:sigma=1", "(", "not closed", ""),
        ("gaussian:sigma=1)", ")", "closes nothing", ""),
        ("()", "()", "nothing", ""),
        ("gaussian:sigma=1\n", "\n", "not expected", "one line"),
        ("gaussian-:sigma=1", "gaussian-", "letter or a digit", ""),
        # Names, ranges, and what goes together.
        ("gausian:sigma=1", "gausian", "unknown mechanism", "did you mean gaussian?"),
        ("truncated-gaussian:p=1", "truncated-gaussian", "unknown mechanism", "known: gaussian,"),
        ("discretelaplace:p=1", "discretelaplace", "unknown mechanism", "did you mean discrete-"),
        ("gaussians:sigma=1", "gaussians", "unknown mechanism", "did you mean gaussian?"),
        ("pure:epsilon=1@1,000", ",", "not expected here", "no comma stands within a number"),
        ("pure:epsilon=1@ 12,000,000@2", ",", "not expected here", "no comma"),
        ("pure:epsilon=1 # a comment", "#", "not expected", "no comments"),
        ("gaussian:sigm=1", "sigm", "no parameter sigm", "did you mean sigma?"),
        ("gaussian:sigma=1@poison:q=1", "poison", "unknown wrapper", "did you mean poisson?"),
        ("poisson:q=1", "poisson", "stands after @", "@poisson:q="),
        ("gaussian:sigma=1@laplace:scale=1", "laplace", "is a mechanism", "+laplace"),
        ("gaussian:sigma=-1.0", "-1.0", "sigma must be > 0, got -1.0", ""),
        ("gaussian:sigma=1@poisson:q=150%", "150%", "q must be in [0, 1], got 150%", ""),
        ("rr:p=1", "1", "p must be in (0, 1), got 1", ""),
        ("rr:p=0.5,categories=2.5", "2.5", "whole number", ""),
        ("rr:p=0.5,categories=1e3", "1e3", "whole number", "write 1_000"),
        ("rr:p=0.5,categories=1", "1", "categories must be >= 2, got 1", ""),
        ("rr:p=0.5,epsilon=1", "epsilon", "takes p or epsilon, not both", ""),
        ("gaussian", "gaussian", "needs sigma or noise_multiplier", "gaussian:sigma=1.1"),
        ("approx:epsilon=1", "approx", "approx needs delta", "approx:"),
        ("gaussian:noise_multiplier=1,sensitivity=1", "sensitivity", "do not go together", ""),
        ("gaussian:sigma=(pure:epsilon=1)", "pure:epsilon=1", "a number, got a spec", ""),
        ("gaussian:sigma=pure:epsilon=1", "pure", "in parentheses", "sigma=(NAME:KEY=VALUE)"),
        ("test-spec:test=gaussian", "gaussian", "in parentheses", "test=(gaussian:...)"),
        ("test-spec:test=_", "_", "got a free parameter", ""),
        ("test-kinds:noise=_", "_", "got a free parameter", ""),
        ("test-kinds:noise=gauss", "gauss", "one of gaussian, two-sided", "did you mean gaussian?"),
        ("test-kinds:noise=gaussian,monotone=1", "1", "true or false", ""),
        ("test-kinds:noise=gaussian,file=curve", "curve", "a file", "./curve"),
        ("test-kinds:noise=gaussian,shift=-6", "-6", "shift must be >= -5, got -6", ""),
        ("test-spec:test=(test-bare),bound=1", "1", "bound must be < 1, got 1", ""),
        # Disjoint parts.
        ("max()", "()", "nothing stands between", ""),
        ("max(test-bare)+test-bare", "max(test-bare)", "two or more", "write max(A,B)"),
        ("max(pure:epsilon=1,)", ")", "is expected here", "pure:epsilon=NUMBER"),
        ("max(pure:epsilon=1,pure:sigma=1)", "sigma", "no parameter sigma", "known: epsilon"),
        ("max(pure:epsilon=1,delta)", "delta", "unknown mechanism", "known"),
        ("max(pure:epsilon=1;test-bare)", ";", "not expected", "compose with +"),
        ("max(pure:epsilon=1,test-bare", "(", "not closed", ""),
        ("max:epsilon=1", "max", "unknown mechanism: max", "max(A,B)"),
        ("maximum(test-bare,test-bare)", "(", "a colon follows maximum", "max(A,B)"),
        ("test-bare@max(test-bare,test-bare)", "(", "a colon follows max", "max(A,B)"),
        ("(pure:epsilon=1,test-bare)", "test-bare", "follow test-bare", "write test-bare=VALUE"),
        ("test-bare@ts:n=100", "n", "n needs m beside it", ""),
        ("test-bare@ts:n=10,m=11", "m", "m must be <= n, got 11", ""),
        ("test-bare@ts:q=1,n=10", "n", "takes q or n with m, not both", ""),
    ],
)
def test_refusals(text: str, marked: str, message: str, hint: str) -> None:
    """Each mistake is named, marked, and answered with what to write instead."""
    error = refused(text)
    assert message in str(error)
    assert marked == text[slice(*error.span)]
    assert hint in error.hint
    assert hint or not error.hint or error.hint.startswith(("a ", "an ", "write", "for", "known"))


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


def test_thousands_of_terms_are_read() -> None:
    """A ledger of many entries comes back from its text, and from its twin."""
    tree = ledger(5_000)
    assert parse(to_text(tree)).tree == tree
    assert loads(json.dumps(to_json(tree))) == tree


@pytest.mark.parametrize("fault", ["!", "+gausian:sigma=1", "@2e3", "+gaussian:sigma=-1", "+", "@"])
def test_errors_in_a_long_text_show_its_place(fault: str) -> None:
    """Two lines around the fault, however long the text is before and after it."""
    before = to_text(ledger(2_000))
    error = refused(f"{before}{fault}+{before}")
    assert 0 <= error.span[0] - len(before) < 20
    said, text, markers, *_ = marked(error).splitlines()
    assert len(said) < 200
    assert (text[:5], text[-3:]) == ("  ...", "...")
    assert max(len(text), len(markers)) <= 80


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


def test_counts_are_doubles() -> None:
    """The largest count is 10^15: beyond 2^53 doubles no longer hold every integer."""
    assert Repeated(10**15, GAUSS) == parse("gaussian:sigma=1@1_000_000_000_000_000").tree
    assert "at most 1000000000000000" in str(refused("gaussian:sigma=1@1000000000000001"))


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


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("gaussian:sigma=5.0", "gaussian:sigma=5"),
        ("Gaussian : standard-deviation = 1e-5", "gaussian:sigma=1e-05"),
        ("gaussian:sensitivity=2,sigma=1", "gaussian:sigma=1,sensitivity=2"),
        ("rr:p=75%", "randomized-response:p=0.75"),
        ("gaussian:sigma=1@poisson-sampled:q=1/4@1_000", "gaussian:sigma=1@poisson:q=0.25@1000"),
        ("((gaussian:sigma=1)+(pure:epsilon=1))", "gaussian:sigma=1+pure:epsilon=1"),
        (
            "((gaussian:sigma=1)+(pure:epsilon=1))@2",
            "(gaussian:sigma=1+pure:epsilon=1)@2",
        ),
        ("gaussian:sigma=1e16", "gaussian:sigma=1e+16"),
    ],
)
def test_canonical_text(written: str, canonical: str) -> None:
    """Short spellings, the order of the registry, no spaces, no parentheses that say nothing."""
    assert canonical == to_text(parse(written).tree)


def test_a_mistake_is_shown_with_a_caret_and_a_hint() -> None:
    """The four lines: message, specification, carets, hint."""
    with pytest.raises(SpecError) as caught:
        parse("gaussian:sigm=1@1000")
    assert marked(caught.value).split("\n") == [
        "gaussian has no parameter sigm",
        "  gaussian:sigm=1@1000",
        "           ^^^^",
        "hint: did you mean sigma?",
    ]


def test_tabs_keep_the_caret_in_place() -> None:
    """A tab is shown as a space, a control character as `?`."""
    error = SpecError("bad", text="a\tb\x1bxyc", span=(6, 7))
    assert marked(error).split("\n") == ["bad", "  a b?xyc", "        ^"]


def test_a_long_text_is_shown_around_the_span() -> None:
    """The window is at most 76 columns, and the caret stands under the fault."""
    text = "gaussian:sigma=1+" * 100 + "gaussian:sigma=-1" + "+gaussian:sigma=1" * 100
    with pytest.raises(SpecError) as caught:
        parse(text)
    _, shown, marks = marked(caught.value).split("\n")[:3]
    assert len(shown) <= 78
    assert shown.startswith("  ...")
    assert shown.endswith("...")
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "-1"


def test_a_long_span_begins_in_the_window() -> None:
    """A fault longer than the window is marked from its first character on."""
    with pytest.raises(SpecError) as caught:
        parse("gaussian:sigma=1@" + "9" * 500)
    _, shown, marks = marked(caught.value).split("\n")[:3]
    assert shown[marks.index("^")] == "9"
    assert len(marks) <= 78


def test_the_end_of_a_text_is_marked_behind_it() -> None:
    """What is missing is marked where it should stand."""
    for count in (1, 50):
        text = "gaussian:sigma=1+" * count
        with pytest.raises(SpecError) as caught:
            parse(text)
        _, shown, marks = marked(caught.value).split("\n")[:3]
        assert len(marks) == len(shown) + 1


def test_an_error_without_a_text_has_no_caret() -> None:
    """An error about JSON is its message and hint."""
    assert marked(SpecError("bad", hint="good")) == "bad\nhint: good"


def _survives(seed: int, trees: int) -> None:
    rng = random.Random(seed)
    for _ in range(trees):
        tree = random_tree(rng)
        text = to_text(tree)
        parsed = parse(text).tree
        assert tree == parsed, text
        assert text == to_text(parsed)
        if "(" not in text:
            assert text == shlex.quote(text)
        twin = to_json(tree)
        assert tree == from_json(twin), text
        assert tree == loads(json.dumps(twin)), text


def test_random_trees_survive_both_forms() -> None:
    """Trees with every kind of value are equal after text and after JSON; the text is canonical.

    Text without parentheses is safe in a shell as it stands.
    """
    _survives(seed=1, trees=700)


@pytest.mark.slow
def test_many_random_trees_survive_both_forms() -> None:
    """The same for thirty thousand trees."""
    _survives(seed=2, trees=30_000)


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


def test_the_schema_accepts_every_twin() -> None:
    """The JSON Schema made from the registry accepts the JSON of random trees."""
    validator = jsonschema.Draft202012Validator(spec_schema())
    rng = random.Random(5)
    for _ in range(300):
        twin = to_json(random_tree(rng, depth=3))
        validator.validate(json.loads(json.dumps(twin)))


def test_read_takes_text_and_json_alike() -> None:
    """One reader takes both forms, and the canonical text stands for JSON."""
    rng = random.Random(6)
    for _ in range(300):
        tree = random_tree(rng)
        from_text, from_twin = read(to_text(tree)), read(json.dumps(to_json(tree)))
        assert from_text.tree == from_twin.tree
        assert from_text.text == from_twin.text
