"""The table of mechanisms: look-up, building, relations, holes, and that it costs no numerics."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

import privcalc.mechanisms
from privcalc.accounting.compose import compose
from privcalc.commands.values import read_number
from privcalc.errors import DomainError, SpecError, UnsupportedError
from privcalc.exact import exact
from privcalc.losses.atoms import AtomicLaw
from privcalc.mechanisms.gaussian import Gaussian
from privcalc.mechanisms.laplace import Laplace
from privcalc.mechanisms.randomized_response import RandomizedResponse
from privcalc.mechanisms.stated import Approx, Pure
from privcalc.relation import Adjacency, Relation
from privcalc.spec import registry
from privcalc.spec.entry import LAST, brief_text
from privcalc.spec.parse import parse
from privcalc.spec.read import read, reject_holes
from privcalc.spec.registry import to_text
from privcalc.spec.tree import Leaf, Wrapped
from privcalc.wrappers.poisson import PoissonSampled
from tests.pairs import atoms_of
from tests.spec.spec_trees import extra_entries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _extra() -> Iterator[None]:
    with extra_entries():
        yield


def built(text: str) -> object:
    """Build the mechanism, or the outermost wrapper, that a text describes."""
    tree = parse(text).tree
    assert isinstance(tree, Leaf | Wrapped)
    return registry.build(tree)


def test_every_entry_is_complete() -> None:
    """Each entry has a docstring, an example that reads, and a meaning for each parameter."""
    for entry in (*registry.mechanisms(), *registry.wrappers()):
        assert entry.summary
        assert entry.relations
        tree = parse(entry.example).tree
        assert entry.spelling in to_text(tree)
        assert entry == registry.entry(entry.name)
        for parameter in entry.parameters:
            assert entry.meaning(parameter), parameter.name
            assert not entry.meaning(parameter).endswith(".")


NEW = '''
from privcalc.mechanisms.base import Mechanism
from privcalc.spec.registry import mechanism


@mechanism(name="new_one", place=15, parameters=(), example="new-one@2")
class NewOne(Mechanism):
    """A mechanism that shows nothing."""

    def laws(self, adjacency):
        from privcalc.losses.atoms import AtomicLaw

        return AtomicLaw((0.0,), (1.0,), loss_units=0.0, lower_masses=(1.0,))
'''


def test_a_new_mechanism_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the package is found at its place in the documentation, and is answered."""
    before = [entry.name for entry in registry.mechanisms()]
    (tmp_path / "new_one.py").write_text(NEW, encoding="utf-8")
    monkeypatch.setattr(privcalc.mechanisms, "__path__", [str(tmp_path)])
    monkeypatch.setattr(registry, "_loaded", [])
    try:
        names = [entry.name for entry in registry.mechanisms()]
        assert names == [before[0], "new_one", *before[1:]]
        (answer,) = compose(parse("new-one@2@group:k=3").tree, deltas=[0.1]).answers
        assert answer.bound is not None
        assert answer.bound.upper == 0.0
    finally:
        registry.unregister("new_one")
        sys.modules.pop("privcalc.mechanisms.new_one", None)


def test_places_in_the_documentation_are_declared() -> None:
    """No two entries of the packages have one place, and mechanisms begin with noise."""
    for entries in (registry.mechanisms(), registry.wrappers()):
        places = [entry.place for entry in entries if not entry.name.startswith("test_")]
        assert places == sorted(set(places))
        assert max(places) < LAST
    assert [entry.name for entry in registry.mechanisms()][:2] == ["gaussian", "laplace"]


def test_constructors_agree_with_the_registry() -> None:
    """Constructors take the long names as keywords, and have the defaults of the registry."""
    for entry in (*registry.mechanisms(), *registry.wrappers()):
        if entry.name.startswith("test_"):
            continue
        signature = inspect.signature(entry.factory)
        for parameter in entry.parameters:
            taken = signature.parameters[parameter.name]
            assert taken.kind is inspect.Parameter.KEYWORD_ONLY
            if parameter.default is not None:
                assert parameter.default == taken.default


def test_mechanisms_are_built_from_what_was_written() -> None:
    """The parameters of a mechanism are formed when it is built."""
    gaussian = built("gaussian:sigma=4,sensitivity=2")
    assert isinstance(gaussian, Gaussian)
    assert gaussian.mu.exact == Fraction(1, 2)
    assert Gaussian(noise_multiplier=4.0).mu.exact == Fraction(1, 4)
    laplace = built("laplace:scale=4,sensitivity=2")
    assert isinstance(laplace, Laplace)
    assert laplace.epsilon.exact == Fraction(1, 2)
    assert Laplace(noise_multiplier=4.0).epsilon.exact == Fraction(1, 4)
    pure = built("pure:epsilon=0")
    assert isinstance(pure, Pure)
    assert pure.epsilon.exact == 0
    approx = built("approx:epsilon=1,delta=1e-8")
    assert isinstance(approx, Approx)
    assert approx.epsilon.exact == 1
    assert approx.delta.exact == Fraction(1, 10**8)
    sampled = built("gaussian:sigma=1@poisson:q=1%")
    assert isinstance(sampled, PoissonSampled)
    assert sampled.exact.exact == Fraction(1, 100)


@pytest.mark.parametrize(
    "written",
    ["99.9999999999999999%", "1e-17%", "1_000.00000000000000000001", "2.5/1e3", "1/3%", "5e-324",
     "123456789012345678901234567890123", "12345678901234567890e-40", "1e22", "256/60000"],
)  # fmt: skip
def test_messages_have_numbers_exactly(written: str) -> None:
    """However a number was written, what a message has of it is read as the same number."""
    value = read_number("--epsilon", written)
    assert exact(read_number("--epsilon", brief_text(value))) == exact(value)
    assert len(brief_text(value)) <= max(len(written), len(repr(value)))


def test_randomized_response_knows_both_its_numbers() -> None:
    """Probability and epsilon follow from one another, also near 1/k and far from it."""
    response = atoms_of("rr:p=0.75,categories=4", Adjacency.ADD)
    assert response.max_loss == pytest.approx(math.log(9), rel=1e-15)
    for k in (2, 5):
        for epsilon in (1e-9, 0.3, 3.0, 30.0):
            there = RandomizedResponse(epsilon=epsilon, categories=k).laws(Adjacency.ADD)
            assert isinstance(there, AtomicLaw)
            back = RandomizedResponse(probability=there.masses[0], categories=k)
            assert epsilon == pytest.approx(back.law().max_loss, rel=1e-3 if epsilon > 20 else 1e-6)
    quarter = RandomizedResponse(probability=0.25).laws(Adjacency.ADD)
    assert isinstance(quarter, AtomicLaw)
    assert quarter.losses[0] == pytest.approx(-math.log(3))
    RandomizedResponse(probability=1e-300)


def test_constructors_refuse_what_no_law_is_made_for() -> None:
    """A mechanism is not made of numbers whose ratio is not representable."""
    with pytest.raises(DomainError, match=r"sensitivity / standard_deviation must be .*, got inf"):
        Gaussian(standard_deviation=1e-300, sensitivity=1e300)
    with pytest.raises(DomainError, match=r"sensitivity / scale must be .*, got 0\.0"):
        Laplace(scale=1e300, sensitivity=1e-300)


def test_relations_are_declared_and_the_error_names_one_to_pass() -> None:
    """A part that does not support the relation is named, with the relation to pass."""
    tree = parse("gaussian:sigma=1+test-spec:test=(test-bare)@test-group:k=2@3").tree
    registry.check_relation(tree, Relation.REPLACE_ONE)
    with pytest.raises(UnsupportedError) as caught:
        registry.check_relation(tree, Relation.ADD_OR_REMOVE_ONE)
    message = "test-spec is not defined under add-or-remove-one; pass --relation replace-one"
    assert message == str(caught.value)


def test_a_wrapper_fixes_the_relation_of_what_it_wraps() -> None:
    """Inside Poisson sampling a base is read under add-or-remove-one, whatever is asked for."""
    only_replace = "test-spec:test=(test-bare)"
    wrapped = parse(f"{only_replace}@ts:q=0.5").tree
    for relation in Relation:
        registry.check_relation(wrapped, relation)
    sampled = parse(f"{only_replace}@poisson:q=0.5").tree
    for relation in registry.entry("poisson_sampled").relations:
        with pytest.raises(UnsupportedError, match="which @poisson asks for"):
            registry.check_relation(sampled, relation)


def test_holes_are_found_and_refused_with_their_place() -> None:
    """Every hole has a path; where none is allowed the first one is marked."""
    text = "gaussian:sigma=_@poisson:q=_+test-spec:test=(pure:epsilon=_)@_"
    parsed = parse(text)
    assert registry.holes(parsed.tree) == (
        ("events", 0, "event", "standard_deviation"),
        ("events", 0, "sampling_probability"),
        ("events", 1, "event", "test", "epsilon"),
        ("events", 1, "count"),
    )
    with pytest.raises(SpecError, match="only calibrate") as caught:
        reject_holes(read(parsed.text))
    assert caught.value.span == (15, 16)
    question = read('{"type": "pure", "epsilon": "_"}')
    with pytest.raises(SpecError, match="only calibrate"):
        reject_holes(question)
    reject_holes(read("gaussian:sigma=1"))


def test_names_are_taken_once() -> None:
    """Two entries with one spelling, and reserved words, are mistakes of the programmer."""
    for name in ("gaussian", "rr", "count", "composed"):
        with pytest.raises(AssertionError, match="taken or reserved"):
            registry.mechanism(name=name, parameters=(), example=name)(type("Other", (), {}))
    with pytest.raises(KeyError):
        registry.entry("rr")


@pytest.mark.parametrize(
    "call",
    [
        "from privcalc.spec.parse import parse; parse('gaussian:sigma=1.1@poisson:q=0.5@9')",
        'from privcalc.spec.read import read; read(\'{"type": "pure", "epsilon": 1}\')',
        "from privcalc.spec.describe import overview, page; overview(); page('gaussian')",
        "from privcalc.spec import parse, registry; registry.build(parse.parse('rr:p=0.6').tree)",
        "from privcalc.spec.parse import parse\ntry: parse('gausian')\nexcept Exception: pass",
    ],
)
def test_specifications_import_no_numerics(call: str) -> None:
    """Reading, explaining and building load nothing but the standard library and privcalc."""
    heavy = "numpy scipy typer click rich mpmath"
    program = f"{call}\nimport sys; print([m for m in {heavy!r}.split() if m in sys.modules])"
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert outcome.stdout == "[]\n"
