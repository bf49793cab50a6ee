"""DpEvents of dp_accounting: read as data, refused by name, and written again."""

from __future__ import annotations

import ast
import json
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

import privcalc
from privcalc.accounting.compose import compose
from privcalc.errors import SpecError
from privcalc.relation import Relation
from privcalc.spec.events.data import FIELDS, REFUSED
from privcalc.spec.events.dp_events import event_text
from privcalc.spec.parse import parse
from privcalc.spec.read import read
from tests.events.real_events import events, peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

ADD, REPLACE = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE


# An event whose numbers mean something else in its specification, with the relation that it brings.
KNOWN = [
    ("GaussianDpEvent(1.1)", "gaussian:noise_multiplier=1.1", ADD),
    ("ZCDpEvent(rho=0.5)", "zcdp:rho=0.5,xi=0", None),
    ("DiscreteLaplaceDpEvent(0.1, 3)", "discrete-laplace:epsilon=0.3,sensitivity=3", ADD),
    ("RandomizedResponseDpEvent(0.3, 4)", "randomized-response:p=0.775,categories=4", REPLACE),
    # What has few bits is not its decimal.
    ("GaussianDpEvent(np.float32(1.1))", "gaussian:noise_multiplier=1.100000023841858", ADD),
    ("GaussianDpEvent(np.float16(1.1))", "gaussian:noise_multiplier=1.099609375", ADD),
    *(
        (
            f"RepeatAndSelectDpEvent(ZCDpEvent(1, 0), 3.5, {shape})",
            f"zcdp:rho=1,xi=0@select:{runs}",
            None,
        )
        for shape, runs in (
            ("inf", "runs=poisson,mean=3.5"),
            ("1", "runs=geometric,mean=3.5"),
            ("0.0", "runs=logarithmic,mean=3.5"),
            ("-0.5", "runs=tnb,mean=3.5,shape=-0.5"),
        )
    ),
]


@pytest.mark.parametrize(("event", "text", "relation"), KNOWN)
def test_numbers_are_those_of_the_event(event: str, text: str, relation: Relation | None) -> None:
    """Each is a specification under the relation for which its numbers are stated, and back."""
    found = read(event)
    # A composition of one event is that event.
    assert read(f"ComposedDpEvent([{event}])").tree == found.tree
    assert (found.text, found.relation) == (text, relation)
    assert found.tree == parse(text).tree == read(event_text(found.tree, relation or ADD)).tree


@pytest.mark.parametrize(
    "text",
    [
        "GaussianDpEvent(noise_multiplier=__import__('os').system('true'))",
        "GaussianDpEvent(noise_multiplier=open('/tmp/x'))",
        "GaussianDpEvent((lambda: 1)())",
        "GaussianDpEvent(1 if 1 else 2)",
        "GaussianDpEvent(1+1)",
        "GaussianDpEvent(9**9**9)",
        "x.y.GaussianDpEvent.__class__(1)",
        "GaussianDpEvent(" + "-" * 100_000 + "1)",
        "GaussianDpEvent(" + "not " * 100_000 + "1)",
        "GaussianDpEvent(" + "+".join(["1"] * 100_000) + ")",
        "GaussianDpEvent(a" + ".a" * 100_000 + ")",
        "GaussianDpEvent" + "()" * 100_000,
        "GaussianDpEvent(" + "a" * 900_000,
        "SelfComposedDpEvent(" * 60_000,
        "GaussianDpEvent(" + "[" * 150 + "]" * 150 + ")",
        "SelfComposedDpEvent(" * 120 + "NoOpDpEvent()" + ",1)" * 120,
        "GaussianDpEvent(" + "9" * 10_000 + ")",
        "GaussianDpEvent(1.1" + " " * 1_000_000 + ")",
        "ComposedDpEvent([" + "NoOpDpEvent(), " * 90_000 + "])",
        '["dp_accounting.dp_event", "ComposedDpEvent", [' * 400 + "]]" * 400,
        '["dp_accounting.dp_event", "ComposedDpEvent", [' * 10_000 + "]]" * 10_000,
    ],
    ids=range(21),
)
def test_nothing_is_evaluated(text: str) -> None:
    """Code, and what is nested or long beyond reason, is no event."""
    with pytest.raises(SpecError):
        read(text)


def test_the_list_of_json() -> None:
    """The lists of `to_named_tuple()` are the same events, Python's Infinity among them."""
    gaussian = ["dp_accounting.dp_event", "GaussianDpEvent", 1.1]
    sampled = ["dp_accounting.dp_event", "PoissonSampledDpEvent", 0.01, gaussian]
    whole = ["dp_accounting.dp_event", "ComposedDpEvent", [sampled, gaussian]]
    found = read(
        json.dumps(["dp_accounting.dp_event", "RepeatAndSelectDpEvent", whole, 3, math.inf])
    )
    inner = "gaussian:noise_multiplier=1.1"
    assert found.text == f"({inner}@poisson:q=0.01+{inner})@select:runs=poisson,mean=3"
    for wrong in ([], ["a"], ["os", "system", "true"], [1, 2], [gaussian], gaussian[:2]):
        with pytest.raises(SpecError):
            read(json.dumps(wrong))
    with pytest.raises(SpecError, match="NaN is not a number"):
        read('["dp_accounting.dp_event", "GaussianDpEvent", NaN]')


def test_rounds_to_the_side_that_costs_more() -> None:
    """A quotient that no double is becomes less noise, and a larger rate."""
    rng = random.Random(1)
    for _ in range(200):
        sigma, sensitivity = Fraction(rng.randint(1, 999), 100), rng.randint(1, 50)
        q = Fraction(rng.randint(1, 60), rng.randint(60, 60_000))
        text = f"gaussian:sigma={float(sigma)},sensitivity={sensitivity}@poisson:q={q}"
        found = ast.parse(event_text(read(text).tree, ADD), mode="eval").body
        assert isinstance(found, ast.Call)
        rate, inner = (each.value for each in found.keywords)
        assert isinstance(inner, ast.Call)
        # What is read again is the decimal.
        noise = Fraction(repr(ast.literal_eval(inner.keywords[0].value)))
        assert noise <= sigma / sensitivity <= noise * (1 + Fraction(1, 10**15))
        assert q * (1 + Fraction(1, 10**15)) >= Fraction(repr(ast.literal_eval(rate))) >= q


def test_every_event_of_the_library_is_known() -> None:
    """Each class of the installed version is read or refused by name, with all its fields."""
    attr = pytest.importorskip("attr")
    library = pytest.importorskip("dp_accounting.dp_event")
    for name, found in vars(library).items():
        if not name.endswith("DpEvent") or name == "DpEvent":
            continue
        short = name.removesuffix("DpEvent")
        if short in REFUSED:
            continue
        fields = {each.name: each.default for each in attr.fields(found)}
        assert list(FIELDS[short]) == list(fields), name
        for key, default in fields.items():
            assert FIELDS[short][key] == (None if default is attr.NOTHING else default)


def test_round_trip_of_real_events() -> None:
    """Events of the library are written as equal ones, from their repr and their lists."""
    library = pytest.importorskip("dp_accounting.dp_event")
    found = list(events())
    assert len(found) == 42
    for event in found:
        for written in (repr(event), json.dumps(event.to_named_tuple())):
            question = read(written)
            again = event_text(question.tree, question.relation or ADD)
            # The text is our own, of classes of the library.
            assert eval(again, {**vars(library), "inf": math.inf}) == event  # noqa: S307


@pytest.mark.slow
def test_answers_are_inside_the_bound_of_the_library() -> None:
    """The library rounds up: it is above both ends, but for rounding."""
    pytest.importorskip("dp_accounting")
    for event in events():
        question = read(repr(event))
        tree, relation = question.tree, question.relation
        answers = compose(tree, relation=relation, deltas=[1e-5], tolerance=1e-9).answers
        bound = answers[0].bound
        assert bound is not None
        theirs = peer(event, question.relation, 1e-5)
        assert bound.upper <= theirs * (1 + 1e-9), event
        assert bound.lower is None or bound.lower <= theirs, event


class TestCommandLine:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("event", "relation", "text"),
        [
            (
                (
                    "SelfComposedDpEvent(SampledWithoutReplacementDpEvent(9, 3, ComposedDpEvent(["
                    "GaussianDpEvent(1.5), DiscreteLaplaceDpEvent(0.25, 3)])), 7)"
                ),
                "replace-one",
                (
                    "(gaussian:sigma=1.5,sensitivity=2+discrete-laplace:epsilon=1.5,sensitivity=6)"
                    "@wor:n=9,m=3@7"
                ),
            ),
        ],
    )
    def test_with_the_relation_given(
        self, event: str, relation: str, text: str, run: Callable[..., Outcome]
    ) -> None:
        """What says nothing without a relation is answered with it, everywhere."""
        words = ("--to", "rdp", "--orders", "2", "--relation", relation, "--json")
        found = run("convert", event, *words)
        printed = json.loads(found.stdout)
        assert (printed["text"], printed["relation"]) == (text, relation.replace("-", "_"))
        assert run("convert", "-", *words, stdin=event).stdout == found.stdout
        assert privcalc.from_dp_event(event, relation=relation) == text
        asked = privcalc.convert(event, to="rdp", orders=2, relation=relation)
        assert asked.to_dict() == printed

    def test_an_answer_is_an_event(self, run: Callable[..., Outcome]) -> None:
        """A printed event and its JSON are questions about the same."""
        text = "gaussian:noise_multiplier=1.1@poisson:q=0.01@1000"
        event = run("convert", text, "--to", "dp-event")
        again = run("convert", "-", "--to", "dp-event", stdin=event.stdout)
        assert again == event
        line = run("convert", text, "--to", "dp-event", "--json").stdout
        assert json.loads(line)["result"] == {"dp_event": event.stdout.rstrip()}
        assert run("convert", "-", "--to", "dp-event", stdin=line).stdout == event.stdout

    def test_replaced_contributions_by_listed_outcomes(self) -> None:
        """Two contributions of opposite sign, seen through a fair coin of lattice noise.

        Batches of one of two records, with noise on a sum of -1, 0 or 1: delta of all outcomes.
        """
        a, x = 0.5, 0.3
        weights = {k: math.exp(-a * abs(k)) for k in range(-400, 401)}
        total = math.fsum(weights.values())
        rows = [
            (
                0.5 * weights.get(k - 1, 0.0) / total + 0.5 * weights[k] / total,
                0.5 * weights.get(k + 1, 0.0) / total + 0.5 * weights[k] / total,
            )
            for k in weights
        ]
        delta = math.fsum(max(0.0, p - math.exp(x) * q) for p, q in rows)
        event = f"SampledWithoutReplacementDpEvent(2, 1, DiscreteLaplaceDpEvent({a}, 1))"
        bound = privcalc.compose(event, epsilon=x, relation="replace-one").delta
        assert delta <= bound.upper * (1 + 1e-12)
        text = "discrete-laplace:epsilon=1,sensitivity=2@wor:n=2,m=1"
        assert bound == privcalc.compose(text, epsilon=x).delta
