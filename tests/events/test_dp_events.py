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
from privcalc.errors import SpecError, UnsupportedError
from privcalc.relation import Relation
from privcalc.spec.events.data import FIELDS, REFUSED
from privcalc.spec.events.dp_events import event_text
from privcalc.spec.parse import parse
from privcalc.spec.read import read
from tests.cli.test_cli_process import modules
from tests.events.real_events import events, peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

ADD, REPLACE = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE

# The event, its specification, and the relation that it brings.
KNOWN = [
    ("NoOpDpEvent()", "pure:epsilon=0", None),
    ("GaussianDpEvent(noise_multiplier=1.1)", "gaussian:noise_multiplier=1.1", ADD),
    ("LaplaceDpEvent(noise_multiplier=2)", "laplace:noise_multiplier=2", ADD),
    (
        "DiscreteLaplaceDpEvent(noise_parameter=0.1, sensitivity=3)",
        "discrete-laplace:epsilon=0.3,sensitivity=3",
        ADD,
    ),
    (
        "DiscreteGaussianDpEvent(sigma=2.5, sensitivity=2.0, dimension=1)",
        "discrete-gaussian:sigma=2.5,sensitivity=2",
        None,
    ),
    (
        "RandomizedResponseDpEvent(noise_parameter=0.3, num_buckets=4)",
        "randomized-response:p=0.775,categories=4",
        REPLACE,
    ),
    ("ExponentialMechanismDpEvent(epsilon=0.5)", "exponential:epsilon=0.5", None),
    ("EpsilonDeltaDpEvent(epsilon=1.0, delta=1e-06)", "approx:epsilon=1,delta=1e-06", None),
    ("ZCDpEvent(rho=0.5, xi=0.1)", "zcdp:rho=0.5,xi=0.1", None),
    ("ZCDpEvent(rho=0.5)", "zcdp:rho=0.5,xi=0", None),
    (
        (
            "SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01,"
            " event=GaussianDpEvent(noise_multiplier=1.1)), count=1000)"
        ),
        "gaussian:noise_multiplier=1.1@poisson:q=0.01@1000",
        None,
    ),
    (
        (
            "SampledWithoutReplacementDpEvent(source_dataset_size=100, sample_size=3,"
            " event=ZCDpEvent(rho=0.5, xi=0.0))"
        ),
        "zcdp:rho=0.5,xi=0@wor:n=100,m=3",
        None,
    ),
    (
        (
            "ComposedDpEvent(events=[ZCDpEvent(rho=1.0, xi=0.0), ComposedDpEvent(events=["
            "GaussianDpEvent(noise_multiplier=1.0), NoOpDpEvent()])])"
        ),
        "zcdp:rho=1,xi=0+gaussian:noise_multiplier=1+pure:epsilon=0",
        ADD,
    ),
    *(
        (
            f"RepeatAndSelectDpEvent(event=ZCDpEvent(rho=0.5, xi=0.0), mean=3.5, shape={shape})",
            f"zcdp:rho=0.5,xi=0@select:runs={runs}",
            None,
        )
        for shape, runs in (
            ("inf", "poisson,mean=3.5"),
            ("1", "geometric,mean=3.5"),
            ("0.0", "logarithmic,mean=3.5"),
            ("0.25", "tnb,mean=3.5,shape=0.25"),
            ("-0.5", "tnb,mean=3.5,shape=-0.5"),
        )
    ),
    ("dp_accounting.GaussianDpEvent( 1.5 )", "gaussian:noise_multiplier=1.5", ADD),
    ("GaussianDpEvent(noise_multiplier=np.float64(1.5))", "gaussian:noise_multiplier=1.5", ADD),
    # What has few bits is not its decimal.
    ("GaussianDpEvent(np.float32(1.1))", "gaussian:noise_multiplier=1.100000023841858", ADD),
    ("GaussianDpEvent(np.float16(1.1))", "gaussian:noise_multiplier=1.099609375", ADD),
    (
        "TruncatedSubsampledGaussianDpEvent(1000000, 0.001, 1200, 1.1)",
        "gaussian:noise_multiplier=1.1@poisson:q=0.001,max=1200,n=1000000",
        ADD,
    ),
    (
        "RandomAllocationDpEvent(GaussianDpEvent(1.1), num_selected=1, num_steps=234)",
        "gaussian:noise_multiplier=1.1@allocation:t=234",
        ADD,
    ),
    (
        "RandomAllocationDpEvent(GaussianDpEvent(1.1), 10, 1000)",
        "gaussian:noise_multiplier=1.1@allocation:t=1000,k=10",
        ADD,
    ),
    (
        "MixtureOfGaussiansDpEvent(2, [0, 1.5], (0.25, 0.75))",
        "gaussian-mixture:sigma=2,sensitivities=0,1.5,probabilities=0.25,0.75",
        ADD,
    ),
]


@pytest.mark.parametrize(("event", "text", "relation"), KNOWN)
def test_reads(event: str, text: str, relation: Relation | None) -> None:
    """Each event is a specification, under the relation for which its numbers are stated."""
    found = read(event)
    assert found.text == text
    assert found.relation is relation
    assert found.tree == parse(text).tree


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("NonPrivateDpEvent()", "NonPrivateDpEvent: it stands for an operation without"),
        ("UnsupportedDpEvent()", "UnsupportedDpEvent: it says nothing"),
        ("SampledWithReplacementDpEvent(1, 1, NoOpDpEvent())", "with replacement is not"),
        ("SingleEpochTreeAggregationDpEvent(1.0, 4)", "--relation replace-special"),
        ("MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5])", "same length, got 2 and 1"),
        ("MixtureOfGaussiansDpEvent(1.0, [], [])", "sensitivities takes a list of at least one"),
        ("MixtureOfGaussiansDpEvent(1.0, 3, [1.0])", "takes a list of at least one number, got 3"),
        ("MixtureOfGaussiansDpEvent(1.0, [-1.0], [1.0])", "must be >= 0, got -1"),
        ("MixtureOfGaussiansDpEvent(1.0, [1.0, None], [1.0, 0])", r"sensitivities\[1\] takes a"),
        ("PermuteAndFlipDpEvent(epsilon=1.0)", "pure:epsilon=E"),
        ("TruncatedSubsampledGaussianDpEvent(9, 0.1, 0, 1.0)", "truncated_batch_size must be >= 1"),
        ("TruncatedSubsampledGaussianDpEvent(9, 0.1, 2.5, 1.0)", "a whole number"),
        (
            "RandomAllocationDpEvent(GaussianDpEvent(1.1), 11, 10)",
            "at most num_steps, got 11",
        ),
        ("GausianDpEvent(1.0)", "unknown event: GausianDpEvent"),
        ("GaussianDpEvent()", "GaussianDpEvent needs noise_multiplier"),
        ("GaussianDpEvent(1, 2)", "has 1 fields, got 2"),
        ("GaussianDpEvent(1, noise_multiplier=2)", "noise_multiplier twice"),
        ("GaussianDpEvent(sigma=2)", "no field sigma"),
        ("GaussianDpEvent(**{})", "has no field \\*\\*"),
        ("GaussianDpEvent(noise_multiplier=0)", "must be > 0, got 0"),
        ("GaussianDpEvent(noise_multiplier=-1.5)", "must be > 0, got -1.5"),
        ("GaussianDpEvent(noise_multiplier=inf)", "takes a finite number"),
        ("GaussianDpEvent(noise_multiplier=nan)", "expected here, got nan"),
        ("GaussianDpEvent(noise_multiplier=True)", "takes a number, got true"),
        ("GaussianDpEvent(noise_multiplier=None)", "takes a number, got null"),
        ("GaussianDpEvent(noise_multiplier=np.float32(1e300))", "too large"),
        ("GaussianDpEvent(noise_multiplier=np.float32([1]))", "a number is expected here"),
        ("SelfComposedDpEvent(NoOpDpEvent(), " + "1" * 5001 + ")", "^1{30,}... is too large "),
        ("SelfComposedDpEvent(NoOpDpEvent(), 0x" + "f" * 5001 + ")", "^0xf.* is too large "),
        ("[GaussianDpEvent(1.1), GaussianDpEvent(1.1)]", "a list of DpEvents is no specification"),
        ("GaussianDpEvent(noise_multiplier=[1.0])", "takes a number, got a list"),
        ("GaussianDpEvent(noise_multiplier=NoOpDpEvent())", "takes a number, got a DpEvent"),
        ("GaussianDpEvent(noise_multiplier=1e999)", "too large"),
        ("SelfComposedDpEvent(GaussianDpEvent(1.0), 0)", "count must be >= 1"),
        ("SelfComposedDpEvent(GaussianDpEvent(1.0), 2.5)", "whole number"),
        ("SelfComposedDpEvent(3, 3)", "event takes a DpEvent, got 3"),
        ("ComposedDpEvent(events=[])", "at least one DpEvent"),
        ("ComposedDpEvent(events=[3])", r"events\[0\] takes a DpEvent, got 3"),
        (
            "ComposedDpEvent([ComposedDpEvent([GaussianDpEvent(0)])])",
            r"must be > 0, got 0 \(at events\[0\].events\[0\]\)",
        ),
        ("PoissonSampledDpEvent(1.5, GaussianDpEvent(1.0))", r"must be in \[0, 1\]"),
        ("RandomizedResponseDpEvent(0.0, 3)", "noise_parameter must be in"),
        ("RandomizedResponseDpEvent(0.5, 1)", "num_buckets at least 2"),
        ("DiscreteGaussianDpEvent(sigma=2.5)", "dimension is 1"),
        ("PoissonSampledDpEvent(0.1, RandomizedResponseDpEvent(0.5, 3))", "replacing a record"),
        (
            "ComposedDpEvent([RandomizedResponseDpEvent(0.5, 3), GaussianDpEvent(1.0)])",
            "add-or-remove-one and replace-one, and have no sum",
        ),
        (
            "SampledWithoutReplacementDpEvent(100, 3, GaussianDpEvent(1.0))",
            "gaussian:noise-multiplier=Z@wor:n=100,m=3",
        ),
        ("GaussianDpEvent(noise_multiplier=1.0", "opens has no end"),
        ("GaussianDpEvent(1.0) GaussianDpEvent(1.0)", "nor plain data of Python"),
    ],
)
def test_refuses(event: str, message: str) -> None:
    """What is not accounted for is refused by name, and says what to ask instead."""
    with pytest.raises(SpecError, match=message):
        read(event)


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


def test_errors_point_into_the_text() -> None:
    """The event at fault is marked."""
    text = "ComposedDpEvent(events=[NoOpDpEvent(), GaussianDpEvent(noise_multiplier=0)])"
    with pytest.raises(SpecError) as caught:
        read(text)
    assert text[slice(*caught.value.span)] == "GaussianDpEvent(noise_multiplier=0)"
    assert caught.value.text == text


@pytest.mark.parametrize(("event", "text", "relation"), KNOWN)
def test_writes_what_it_reads(event: str, text: str, relation: Relation | None) -> None:
    """The event of a specification that was an event is a specification again, the same one."""
    found = read(text)
    wor = "@wor" in text
    written = event_text(found.tree, relation or (REPLACE if wor else ADD))
    assert read(written).tree == read(event).tree
    assert ast.parse(written)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("gaussian:sigma=3,sensitivity=2", "GaussianDpEvent(noise_multiplier=1.5)"),
        ("laplace:scale=3", "LaplaceDpEvent(noise_multiplier=3.0)"),
        ("laplace:scale=0.3,sensitivity=3", "LaplaceDpEvent(noise_multiplier=0.1)"),
        ("discrete-laplace:scale=4", "DiscreteLaplaceDpEvent(noise_parameter=0.25, sensitivity=1)"),
        ("rr:p=0.75", "RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2)"),
        ("pure:epsilon=0.5", "EpsilonDeltaDpEvent(epsilon=0.5, delta=0.0)"),
        ("zcdp:rho=1", "ZCDpEvent(rho=1.0, xi=0.0)"),
        ("pure:epsilon=0@poisson:q=256/512", ("PoissonSampledDpEvent(sampling_probability=0.5,"
         " event=NoOpDpEvent())")),
    ],
)  # fmt: skip
def test_writes(text: str, event: str) -> None:
    """Parameters in another form are those of the event."""
    relation = REPLACE if text.startswith("rr") else ADD
    assert event_text(read(text).tree, relation) == event


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


@pytest.mark.parametrize(
    ("text", "relation", "message"),
    [
        ("staircase:epsilon=1", ADD, "no DpEvent is staircase"),
        ("gaussian:sigma=1@group:k=2", ADD, "no DpEvent is gaussian:sigma=1@group:k=2"),
        ("rr:epsilon=1", REPLACE, "write p"),
        ("rr:p=0.2,categories=3", REPLACE, "less likely than another"),
        ("rr:p=0.75", ADD, "read under replace-one, and not under add-or-remove-one"),
        ("gaussian:sigma=1", REPLACE, "and not under replace-one"),
        ("exponential:epsilon=1,monotone=true", ADD, "monotone"),
        ("zcdp:rho=1@wor:q=0.1", REPLACE, "write n"),
        ("zcdp:rho=1@select:runs=fixed,n=3", ADD, "an event has a mean"),
        ("discrete-gaussian:sigma=1/3", ADD, "its sigma is no double"),
        ("gaussian:sigma=1e300,sensitivity=1e-300", ADD, "no DpEvent has a number that large"),
        ("zcdp:rho=1@select:runs=geometric,gamma=0.1", ADD, "an event has a mean"),
    ],
)
def test_writes_no_event_that_says_something_else(
    text: str, relation: Relation, message: str
) -> None:
    """What has no event is refused, and so is a relation that events do not mean."""
    with pytest.raises(UnsupportedError, match=message):
        event_text(read(text).tree, relation)


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
    """Forty events of the library are written as equal ones, from their repr and their lists."""
    library = pytest.importorskip("dp_accounting.dp_event")
    found = list(events())
    assert len(found) == 40
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
    def test_to_dp_event(self, run: Callable[..., Outcome]) -> None:
        """The event is a line of its own, which can be read again; JSON has it as a result."""
        text = "gaussian:sigma=1.1@poisson:q=0.01@1000"
        event = run("convert", text, "--to", "dp-event")
        assert event.stdout == (
            "SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01,"
            " event=GaussianDpEvent(noise_multiplier=1.1)), count=1000)\n"
        )
        again = run("convert", "-", "--to", "dp-event", stdin=event.stdout)
        assert (again.stdout, again.stderr) == (event.stdout, "")
        # A multiple of the sensitivity is about any; a standard deviation is about one.
        assert event.stderr == "privcalc: note: sensitivity 1 (assumed)\n"
        (line,) = run("convert", text, "--to", "dp-event", "--json", "-v").stdout.splitlines()
        assert json.loads(line)["result"] == {"dp_event": event.stdout.rstrip()}
        assert run("convert", "-", "--to", "dp-event", stdin=line).stdout == event.stdout

    def test_an_event_costs_what_its_specification_does(self, run: Callable[..., Outcome]) -> None:
        """Two lines with one event are two questions, and so is its list."""
        event = "GaussianDpEvent(noise_multiplier=2.0)"
        named = '["dp_accounting.dp_event", "GaussianDpEvent", 2.0]'
        outcome = run("compose", "-", "--delta", "1e-5", "-t", stdin=f"{event}\n{event}\n{named}\n")
        alone = run("compose", "gaussian:noise_multiplier=2", "--delta", "1e-5", "-t")
        assert outcome.stdout == alone.stdout * 3
        assert outcome.status == 0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--delta", "1e-5"), "--delta says nothing to --to dp-event"),
            (("--format", "csv"), "prints a line, or --json; not csv"),
            (("--group", "2"), "say nothing to --to dp-event"),
            (("--relation", "replace-one"), "and not under replace-one"),
        ],
    )
    def test_refuses(
        self, arguments: tuple[str, ...], message: str, run: Callable[..., Outcome]
    ) -> None:
        """Options that say nothing to an event."""
        outcome = run("convert", "gaussian:sigma=2", "--to", "dp-event", *arguments)
        assert (outcome.status, outcome.stdout) == (2, "")
        assert message in outcome.stderr

    def test_relation_of_an_event(self, run: Callable[..., Outcome]) -> None:
        """The noise multiplier of an event means something else where a record is replaced."""
        event = "GaussianDpEvent(noise_multiplier=2.0)"
        outcome = run("compose", event, "--delta", "1e-5", "--relation", "replace-one")
        assert outcome.status == 2
        assert "what was read holds under add-or-remove-one" in outcome.stderr
        both = run("compose", event, "rr:p=0.75", "--delta", "1e-5", "--json")
        assert json.loads(both.stdout)["relation"] == "add_or_remove_one"

    @pytest.mark.dear("SelfComposedDpEvent(SampledWit", "event1-replace-one-(laplace:sc")
    @pytest.mark.parametrize(
        ("event", "relation", "text"),
        [
            (
                "SampledWithoutReplacementDpEvent(100, 3, GaussianDpEvent(1.5))",
                "replace-one",
                "gaussian:sigma=1.5,sensitivity=2@wor:n=100,m=3",
            ),
            (
                (
                    "SampledWithoutReplacementDpEvent(100, 3, SelfComposedDpEvent(ComposedDpEvent(["
                    "LaplaceDpEvent(3.0), DiscreteLaplaceDpEvent(0.25, 3)]), 2))"
                ),
                "replace-one",
                (
                    "(laplace:scale=3,sensitivity=2+discrete-laplace:epsilon=1.5,sensitivity=6)@2"
                    "@wor:n=100,m=3"
                ),
            ),
            (
                (
                    "SelfComposedDpEvent(SampledWithoutReplacementDpEvent(100, 3,"
                    " GaussianDpEvent(1.5)), 7)"
                ),
                "replace-one",
                "gaussian:sigma=1.5,sensitivity=2@wor:n=100,m=3@7",
            ),
        ],
    )
    def test_with_the_relation_given(
        self, event: str, relation: str, text: str, run: Callable[..., Outcome]
    ) -> None:
        """What says nothing without a relation is answered with it, everywhere."""
        words = ("--delta", "1e-5", "--relation", relation, "--json")
        found = run("compose", event, *words)
        assert found.status == 0, found.stderr
        assert json.loads(found.stdout)["text"] == text
        assert json.loads(found.stdout)["relation"] == relation.replace("-", "_")
        assert run("compose", "-", *words, stdin=event).stdout == found.stdout
        assert privcalc.from_dp_event(event, relation=relation) == text
        asked = privcalc.compose(event, delta=1e-5, relation=relation)
        assert asked.epsilon.upper == json.loads(found.stdout)["result"]["epsilon"]["upper"]

    @pytest.mark.parametrize(
        ("event", "relation", "message"),
        [
            (
                "SampledWithoutReplacementDpEvent(9, 3, MixtureOfGaussiansDpEvent(2, [1], [1]))",
                "replace-one",
                "stated for adding or removing a record",
            ),
        ],
    )
    def test_what_a_relation_does_not_mend(
        self, event: str, relation: str, message: str, run: Callable[..., Outcome]
    ) -> None:
        """What is stated for another relation stays refused."""
        found = run("compose", event, "--delta", "1e-5", "--relation", relation)
        assert (found.status, found.stdout) == (2, "")
        assert message in found.stderr

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

    @pytest.mark.parametrize(
        "events",
        [
            "[GaussianDpEvent(1.1), GaussianDpEvent(1.1)]",
            "[SelfComposedDpEvent(GaussianDpEvent(1.1), 10),\n GaussianDpEvent(1.1)]",
        ],
    )
    def test_events_in_brackets(self, events: str, run: Callable[..., Outcome]) -> None:
        """They are one mistake, whatever commas they have."""
        outcome = run("compose", "-", "--delta", "1e-5", stdin=events)
        assert (outcome.status, outcome.stdout) == (2, "")
        assert outcome.stderr.count("privcalc:") == 1
        assert "write ComposedDpEvent([...])" in outcome.stderr

    def test_no_control_byte_reaches_the_terminal(self, run: Callable[..., Outcome]) -> None:
        """What is shown of an event is escaped."""
        outcome = run("compose", "GaussianDpEvent(\x1b[31m)", "--delta", "1e-5")
        assert outcome.status == 2
        assert "\x1b" not in outcome.stderr


def test_a_plain_question_loads_nothing_of_it() -> None:
    """What other libraries write is read by modules that a specification does not need."""
    loaded = modules("compose", "gaussian:sigma=2", "--delta", "1e-5", "-q")
    assert "privcalc.spec.read" in loaded
    ours = {each for each in loaded if each.startswith("privcalc.")}
    assert not {each for each in ours if "events" in each or "gate" in each}
    assert "tomllib" not in loaded
