"""What training libraries print and save is read: real strings of many versions."""

from __future__ import annotations

import collections
import io
import json
import pprint
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import privcalc
from privcalc.cli.lines import questions
from privcalc.errors import SpecError
from privcalc.spec.events.data import load
from privcalc.spec.parse import parse
from privcalc.spec.read import read
from privcalc.spec.registry import to_text
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PRINTED = json.loads((ROOT / "tests/oracles/printed.json").read_text(encoding="utf-8"))
VERSIONS = sorted({each["made_by"] for each in PRINTED})
STATE = {"history": [(1.1, 0.0042666, 5), (0.9, 0.01, 7)], "mechanism": "rdp"}
TEXT = (
    "gaussian:noise_multiplier=1.1@poisson:q=0.0042666@5"
    "+gaussian:noise_multiplier=0.9@poisson:q=0.01@7"
)


def plain(spec: str) -> str:
    """Return a specification with one name for the noise."""
    names = ("noise_multiplier=", "scale="), "sigma="
    text = to_text(parse(spec).tree)
    for name in names[0]:
        text = text.replace(name, names[1])
    return text


def asked(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str | SpecError]:
    """Return the questions of standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return [each for _, each in questions()]


@pytest.mark.parametrize("made_by", VERSIONS)
def test_real_strings(made_by: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each is what was run: as it is, out of a file, and as one question of standard input."""
    for each in (each for each in PRINTED if each["made_by"] == made_by):
        text, spec = each["text"], plain(each["spec"])
        assert plain(read(text).text) == spec, each["what"]
        (line,) = asked(monkeypatch, f"{text}\n")
        assert isinstance(line, str), each["what"]
        assert plain(read(line).text) == spec, each["what"]
        (first, _) = asked(monkeypatch, f"{text}\npure:epsilon=1\n")
        assert first == line, each["what"]
        if "DpEvent" not in text:
            file = tmp_path / "saved.txt"
            file.write_text(text, encoding="utf-8")
            assert plain(read(f"opacus:file={file}").text) == spec, each["what"]
            assert plain(privcalc.from_opacus(text)) == spec, each["what"]


def test_all_libraries_are_there() -> None:
    """Several versions of each that could be installed beside one another."""
    names = collections.Counter(each.split()[0] for each in VERSIONS)
    assert names["opacus"] >= 5
    assert names["dp-accounting"] >= 6
    assert names["jax-privacy"] >= 2
    assert names["tensorflow-privacy"] >= 1


@pytest.mark.parametrize(
    "text",
    [
        repr(STATE),
        repr(collections.OrderedDict(STATE)),
        # As Python 3.12 prints it.
        f"OrderedDict({STATE!r})",
        f"collections.OrderedDict({list(STATE.items())!r})",
        repr(STATE["history"]),
        repr(tuple(STATE["history"])),
        "[((1.1), 0.0042666, 5), [(0.9), 0.01, (7)]]",
        json.dumps(STATE["history"]),
        json.dumps(STATE["history"], indent=2),
        json.dumps(STATE, indent=1),
        json.dumps({"history": STATE["history"]}),
        json.dumps({"epoch": 3, **STATE, "note": "it's (1, 2)"}),
        json.dumps({"type": "checkpoint", "state": [{"loss": None}, STATE]}),
        repr({"epoch": 3, 7: True, "history": {"loss": [0.5]}, "state": STATE}),
        pprint.pformat(STATE, width=30),
        pprint.pformat(STATE["history"], width=20),
        "[(np.float64(1.1), numpy.float64(0.0042666), np.int64(5)), (0.9, 1e-02, 7)]",
        "{'history': [(1.1, .0042666, 5,), (+0.9, 0.01, 7), ], 'mechanism': 'rdp', }",
        (
            "{'history': [(1.1, 0.0042666, 5), (0.9, 0.01, 7)], 'mechanism': <bound method"
            " PRVAccountant.mechanism of <class 'opacus.accountants.prv.PRVAccountant'>>}"
        ),
    ],
)
def test_every_form(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state, the steps alone, or what has one in it, however it was written."""
    assert read(text).text == TEXT
    (line,) = asked(monkeypatch, f"\n{text}\n")
    assert isinstance(line, str)
    assert read(line).text == TEXT


SWAPPED = "sensitivity=1, noise_parameter=2"
TUPLE = "NamedTupleWrapper(module_name='dp_accounting.dp_event', class_name="


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        (
            f"_DiscreteLaplaceDpEvent{TUPLE}'DiscreteLaplaceDpEvent', {SWAPPED})",
            "discrete-laplace:epsilon=2,sensitivity=1",
        ),
        (
            f"_EpsilonDeltaDpEvent{TUPLE}'EpsilonDeltaDpEvent', delta=0.5, epsilon=1e-6)",
            "approx:epsilon=1e-06,delta=0.5",
        ),
        (f"_ZCDpEvent{TUPLE}'ZCDpEvent', rho=0.1)", "zcdp:rho=0.1,xi=0"),
    ],
)
def test_fields_are_read_by_name(text: str, spec: str) -> None:
    """Whatever their order is; those that are left out have their defaults."""
    assert to_text(read(text).tree) == spec


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="\\'\"")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.text("abc_ ", max_size=5), inner, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON, max_size=3))
def test_what_python_prints_is_what_it_was(value: dict[str, object]) -> None:
    """The data that JSON and Python print of one value are the same."""
    for text in (repr(value), pprint.pformat(value, width=20), json.dumps(value)):
        assert load(text) == value
    assert load(f"OrderedDict({list(value.items())!r})") == value


def test_from_a_checkpoint_that_was_loaded() -> None:
    """The library takes what has a history in it, beside things that no JSON has."""
    accountant = SimpleNamespace(history=STATE["history"], mechanism=lambda: "rdp")
    old = {"history": STATE["history"], "mechanism": accountant.mechanism}
    for each in (
        accountant,
        old,
        {"epoch": 1, "weights": object(), "privacy": [{"accountant": STATE}]},
        {"weights": object(), "privacy": {"accountant": old}},
        repr(collections.OrderedDict(STATE)),
        json.dumps(STATE),
    ):
        assert privcalc.from_opacus(each) == TEXT
    for nothing in ({"a": STATE, "b": STATE}, {"weights": object()}, "gaussian:sigma=1"):
        with pytest.raises(SpecError, match="histor"):
            privcalc.from_opacus(nothing)


def test_data_that_goes_round_in_circles() -> None:
    """What holds itself, twice, or is nested deeper than anybody writes, has an end."""
    circle: dict[str, object] = {"accountant": STATE}
    circle.update(again=circle, others=[circle, circle])
    assert privcalc.from_opacus(circle) == TEXT
    deep: dict[str, object] = dict(STATE)
    for _ in range(2_000):
        deep = {"inner": deep}
    with pytest.raises(SpecError, match="it has no history"):
        privcalc.from_opacus(deep)


def test_events_over_several_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event as formatters write it is one question, and the next line is another."""
    event = """\
SelfComposedDpEvent(
    event=PoissonSampledDpEvent(
        sampling_probability=0.5,
        event=GaussianDpEvent(noise_multiplier=5.0),
    ),
    count=3,
)
"""
    first, second, third = asked(monkeypatch, f"{event}pure:epsilon=1\n{event}")
    assert first == third
    assert second == "pure:epsilon=1"
    assert read(str(first)).text == "gaussian:noise_multiplier=5@poisson:q=0.5@3"
    # What is cut off takes no line that follows it.
    first, second = asked(monkeypatch, "GaussianDpEvent(\npure:epsilon=1\n")
    assert (first, second) == ("GaussianDpEvent(", "pure:epsilon=1")


def test_numbers_of_tensorflow() -> None:
    """A tensor is printed with all of its digits, and is what it rounds to."""
    event = "GaussianDpEvent(noise_multiplier=<tf.Tensor: shape=(), dtype=float32, numpy=1.1>)"
    assert read(event).text == "gaussian:noise_multiplier=1.100000023841858"
    for wrong in ("<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.])>", "<class 'x'>"):
        with pytest.raises(SpecError, match="nor plain data of Python"):
            read(f"GaussianDpEvent(noise_multiplier={wrong})")


@pytest.mark.slow
def test_long_histories_are_read_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand entries of a schedule, as Python prints them, are one question."""
    steps = [(1.0 + 1e-5 * k, 0.01, 1) for k in range(10_000)]
    (line,) = asked(monkeypatch, repr(steps))
    assert load(str(line)) == [list(each) for each in steps]
