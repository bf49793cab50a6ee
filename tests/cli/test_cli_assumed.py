"""What was left out is said: each number of each format that rests on an assumed sensitivity."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from privcalc.accounting.compose import compose
from privcalc.cli.output import DOCUMENTS
from privcalc.commands.options import option
from privcalc.record import replace
from privcalc.relation import Relation
from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

SPEC = "gaussian:sigma=9"
NOTE = "privcalc: note: sensitivity 1 is assumed of gaussian, and a record that is replaced"
HINT = "hint: write sensitivity=2 where the noise is in units of C, or sensitivity=1 if"
BUDGET = f"""
[budget]
epsilon = 3
delta = 1e-5
[[mechanism]]
name = "a"
spec = "{SPEC}"
[[mechanism]]
name = "b"
spec = "pure:epsilon=0.1"
"""
# Every command, with every kind of answer that it has, of one noise whose sensitivity is left out.
FORMATS = option("compose", "format_").choices
QUESTIONS = [
    f"compose {SPEC} --delta 1e-5",
    f"compose {SPEC} --epsilon 1",
    f"compose {SPEC}",
    f"compose {SPEC} --delta 1e-5,1e-6 --epsilon 1",
    f"compose {SPEC} --delta 1e-5 --max-epsilon 0.1",
    f"compose {SPEC} --delta 1e-5 --max-epsilon 9",
    f"compose {SPEC} --delta 1e-5 --engine afa",
    "compose --file budget.toml",
    f"convert {SPEC} --delta 1e-5",
    f"convert {SPEC} --to profile --points 3",
    f"convert {SPEC} --to rdp --orders 2,3",
    f"convert {SPEC} --to zcdp",
    f"convert {SPEC} --to gdp",
    f"convert {SPEC} --to tradeoff --fpr 0.1",
    f"convert {SPEC} --to risk --fpr 0.1",
    f"convert {SPEC} --to dp-event",
    f"convert {SPEC} --filter zcdp:rho=2 --delta 1e-6",
    f"subsample {SPEC} --q 0.1 --orders 2,3",
    f"subsample {SPEC} --q 0.1 --delta 1e-5 --count 2",
    f"subsample {SPEC} --n 100 --m 7 --orders 2,3",
    f"select {SPEC} --runs geometric:mean=3 --delta 1e-5",
    f"select {SPEC}@_ --thresholds --epsilon-q 1 --runs geometric:mean=3 --delta 1e-5",
    "calibrate gaussian:sigma=_ --epsilon 1 --delta 1e-5",
    "calibrate gaussian:sigma=_ --epsilon 1,2 --delta 1e-5,1e-6",
    f"calibrate {SPEC}@_ --mu 1",
]


def answered(run: Callable[..., Outcome], line: str, *more: str, stdin: str = "") -> Outcome:
    """Return what a line prints, if it answers."""
    done = run(*shlex.split(line), *more, stdin=stdin)
    assert done.status in (0, 1), done.stderr
    return done


@pytest.mark.few(38)
@pytest.mark.dear("subsample gaussian:sigma=9 --q 0.1 --delta 1e-5 --count 2-N")
@pytest.mark.parametrize("form", [*FORMATS, None], ids=str)
@pytest.mark.parametrize("line", QUESTIONS)
def test_every_format_of_every_command_says_so(
    line: str,
    form: str | None,
    run: Callable[..., Outcome],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each answer has the words; a bare number has them on standard error, with -v."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "budget.toml").write_text(BUDGET)
    terse = form is None
    done = run(*shlex.split(line), *(("-t", "-v") if form is None else ("--format", form)))
    if done.status == 2:
        # What is no number by itself, or no guarantee, has no such form.
        assert re.search("-t prints|a statement|prints a line|shows findings", done.stderr)
        return
    # The line of an event is all there is, as with -t.
    terse = terse or (line.endswith("dp-event") and form != "json")
    replaced = "--n 100" in line
    notes = [each for each in done.stderr.splitlines() if re.search("note: .*sensitivity ", each)]
    if replaced:
        assert [each for each in notes if each.startswith(NOTE)] == notes
        assert len(notes) == 1
        assert HINT in done.stderr
    else:
        assert notes == (["privcalc: note: sensitivity 1 (assumed)"] if terse else [])
        event = line.endswith("dp-event")
        assert event or form or "note: sensi" not in run(*shlex.split(line), "-t").stderr
    if form == "json":
        relation = "replace_one" if replaced else "add_or_remove_one"
        found = {"mechanism": "gaussian", "parameter": "sensitivity", "value": 1}
        for each in done.stdout.splitlines():
            assert json.loads(each)["assumed"] == [{**found, "relation": relation}]
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert all(row["sensitivity"] == "1 (assumed)" for row in rows)
        assert rows
    elif form == "junit":
        cases = done.stdout.count("<testcase")
        assert cases
        assert done.stdout.count("sensitivity 1 (assumed)") == cases
    elif form == "gitlab":
        # Where a budget is kept there is no finding, and no number.
        found = json.loads(done.stdout)
        assert all("sensitivity 1 (assumed)" in each["description"] for each in found)
    elif form == "github":
        assert all("sensitivity 1 (assumed)" in each for each in done.stdout.splitlines())
    elif not terse:
        said = re.findall(r"sensitivity\W+1 \(assumed\)", done.stdout)
        # Once above or below the tables; a statement has a sentence, too.
        assert len(said) == 1
        assert "the sensitivity is 1 (assumed)" in done.stdout or form != "statement"


@pytest.mark.parametrize("line", [f"compose {SPEC}", f"convert {SPEC} --to tradeoff"])
def test_pictures_say_so(line: str, run: Callable[..., Outcome]) -> None:
    """Above the curve."""
    assert re.search(
        r"sampling +none, sensitivity 1 \(assumed\)", answered(run, line, "--plot").stdout
    )


@pytest.mark.parametrize("form", [each for each in FORMATS if each not in DOCUMENTS])
def test_streams_say_so_for_each_answer(form: str, run: Callable[..., Outcome]) -> None:
    """Standard input asks many questions, of which each has its own sensitivity."""
    asked = f"{SPEC}\npure:epsilon=1\n{SPEC},sensitivity=3\n"
    done = answered(run, "compose - --delta 1e-5 --format", form, stdin=asked)
    assert done.stdout.count("assumed)") == {"json": 0, "statement": 2}.get(form, 1)
    if form == "json":
        found = [json.loads(each)["assumed"] for each in done.stdout.splitlines()]
        assert [len(each) for each in found] == [1, 0, 0]
    assert done.stderr == ""


# What the bound of one record is called, where it is no sensitivity.
OTHERS = {"thresholded_counts": ("keys",), "posterior_regression": ("row_norm", "response")}


def leaf_of(entry: registry.Entry) -> Leaf:
    """Return the mechanism of an example, which is the first that stands in it."""
    tree = parse(entry.example).tree
    while not isinstance(tree, Leaf):
        tree = tree.events[0] if hasattr(tree, "events") else tree.event
    return tree


@pytest.mark.parametrize("entry", registry.mechanisms(), ids=lambda entry: entry.name)
def test_a_bound_of_one_record_is_declared_as_one(entry: registry.Entry) -> None:
    """Where the cost moves with a sensitivity, or what stands for it, tables have to name it."""
    declared = tuple(each.name for each in entry.parameters if each.contribution)
    named = tuple(each.name for each in entry.parameters if each.name == "sensitivity")
    # The noise of a staircase is scaled to its sensitivity: what it costs is the epsilon.
    expected = () if entry.name == "staircase" else OTHERS.get(entry.name, named)
    assert declared == expected
    if "sensitivity" not in named:
        return
    written = dict(leaf_of(entry).parameters)
    if written.get("steps"):
        written |= {"steps": 4, "participations": 1, "separation": 1}
    costs = []
    for value in (1, 3):
        order = [each.name for each in entry.parameters]
        values = {**written, "sensitivity": value}
        parameters = tuple((name, values[name]) for name in order if name in values)
        tree = replace(leaf_of(entry), parameters=parameters)
        costs.append(compose(tree, deltas=(0.01,)).answers[0].bound)
    assert (costs[0] == costs[1]) is (entry.name == "staircase")


@pytest.mark.parametrize(
    ("text", "relation", "words"),
    [
        ("gaussian:sigma=3", None, "1 (assumed)"),
        ("gaussian:sigma=3,sensitivity=2", None, "2"),
        ("gaussian:sigma=3,sensitivity=1/3", None, "1/3"),
        ("laplace:noise_multiplier=3", None, "the unit of noise_multiplier"),
        ("gaussian:sigma=3+laplace:scale=3,sensitivity=2", None, "gaussian 1 (assumed), laplace 2"),
        ("gaussian:sigma=3+gaussian:sigma=9,sensitivity=2", None, "1 (assumed) and 2"),
        (
            "gaussian:sigma=3+gaussian:noise_multiplier=2",
            None,
            "1 (assumed) and the unit of noise_multiplier",
        ),
        ("thresholded-counts:scale=2,threshold=30", None, "keys 1 (assumed)"),
        (
            "ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),false_positive=1e-6",
            None,
            "1 (assumed)",
        ),
        ("gaussian:sigma=3@wor:q=0.1@9", None, "1 (assumed)"),
        (
            "gaussian:sigma=3@wor:q=0.1",
            Relation.ADD_OR_REMOVE_ONE,
            "1 (assumed, of one record with another value)",
        ),
        (
            "gaussian:sigma=3,sensitivity=2@poisson:q=0.1",
            Relation.REPLACE_ONE,
            "2 (of one record more)",
        ),
        (
            "max(gaussian:sigma=3,laplace:scale=3)@4",
            None,
            "gaussian 1 (assumed), laplace 1 (assumed)",
        ),
        ("+".join(f"gaussian:sigma=90,sensitivity={k}" for k in range(1, 200)), None, "1 to 199"),
        ("+".join(f"gaussian:sigma={k}" for k in range(90, 300)), None, "1 (assumed)"),
        ("pure:epsilon=1+gdp:mu=1+rr:epsilon=1+staircase:epsilon=1", None, None),
    ],
)
def test_the_words(
    text: str, relation: Relation | None, words: str | None, run: Callable[..., Outcome]
) -> None:
    """One line, by kind of noise; hundreds of parts have no more, and guarantees have none."""
    asked = () if relation is None else ("--relation", relation.text)
    lines = answered(run, "compose --delta 1e-3", text, *asked).stdout.splitlines()
    found = [line.split(None, 1)[1] for line in lines if line.startswith("sensitivity")]
    assert found == ([] if words is None else [words])


def test_many_kinds_are_counted(run: Callable[..., Outcome]) -> None:
    """What does not fit on a line is counted, and JSON has all of it."""
    kinds = ["gaussian:sigma=9", "laplace:scale=9", "discrete-laplace:scale=9"]
    kinds += ["discrete-gaussian:sigma=9", "truncated-laplace:scale=9,bound=400"]
    done = answered(run, "compose --delta 1e-5", "+".join(kinds))
    assert "discrete-laplace 1 (assumed), and 2 more kinds of noise, some of them assumed" in (
        done.stdout
    )
    data = answered(run, "compose --delta 1e-5 --json", "+".join(kinds))
    found = json.loads(data.stdout)["assumed"]
    assert [each["mechanism"] for each in found] == [each.partition(":")[0] for each in kinds]


def notes_of(done: Outcome) -> list[str]:
    """Return the notes and hints on standard error."""
    lines = done.stderr.splitlines()
    return [line for line in lines if "note: " in line or line.startswith("hint: ")]


@pytest.mark.parametrize(
    ("line", "noted"),
    [
        ("compose gaussian:sigma=9@wor:q=0.1", True),
        ("compose gaussian:sigma=9,sensitivity=1@wor:q=0.1", False),
        ("compose gaussian:sigma=9@wor:q=0.1 --relation add-or-remove-one", True),
        ("compose rr:epsilon=1@shuffle:n=100", False),
        ("compose gaussian:sigma=9 --relation replace-one", True),
        ("compose gaussian:sigma=9 --relation replace-special", False),
        ("compose gaussian:sigma=9@poisson:q=0.1 --relation replace-one", False),
        ("compose noisy-max:sigma=9,candidates=4 --relation replace-one", True),
        ("compose staircase:epsilon=1 --relation replace-one", False),
        ("compose pure:epsilon=1@wor:q=0.1", False),
        ("compose gaussian:sigma=9", False),
    ],
)
def test_a_replaced_record_gets_a_note(line: str, noted: bool, run: Callable[..., Outcome]) -> None:
    """Two lines on standard error, where a mechanism is read under replace-one, and only there."""
    done = answered(run, line, "--delta", "1e-3", "--max-epsilon", "99")
    assert len(notes_of(done)) == (2 if noted else 0)
    assert done.status == 0
    # Nothing is said where nothing is to be said.
    assert not notes_of(run(*line.split(), "--delta", "1e-3", "-q"))


def test_kinds_are_listed_in_one_note(run: Callable[..., Outcome]) -> None:
    """A sum of hundreds has one note."""
    parts = [f"gaussian:sigma={k}+laplace:scale={k}" for k in range(100, 200)]
    done = answered(run, "compose --delta 1e-3 --relation replace-one", "+".join(parts))
    first, second = notes_of(done)
    assert first.startswith("privcalc: note: sensitivity 1 is assumed of gaussian and laplace, and")
    assert second.startswith(HINT)


def test_what_a_note_says_to_write_is_what_clipped_sums_cost(run: Callable[..., Outcome]) -> None:
    """With sensitivity=2 the noise counts for half; with sensitivity=1 the answer stays."""
    asked = ("--delta", "1e-3", "--relation", "replace-one", "-t")
    plain, one, two, half = (
        run("compose", text, *asked)
        for text in (
            "gaussian:sigma=9",
            "gaussian:sigma=9,sensitivity=1",
            "gaussian:sigma=9,sensitivity=2",
            "gaussian:sigma=4.5,sensitivity=1",
        )
    )
    assert plain.stdout == one.stdout
    assert two.stdout == half.stdout != one.stdout
    assert not notes_of(two)


def test_multiples_of_the_sensitivity(run: Callable[..., Outcome]) -> None:
    """A noise multiplier may have been meant as one of the clipping norm: what to write is said."""
    line = "compose gaussian:noise_multiplier=9@wor:q=0.1 --delta 1e-3"
    said, hint = notes_of(answered(run, line))
    assert said.startswith("privcalc: note: noise_multiplier of gaussian counts the noise in sensi")
    assert hint == "hint: write sigma=9,sensitivity=2 where the noise is 9 C"
    several = "compose laplace:noise_multiplier=9+laplace:noise_multiplier=8 --delta 1e-3"
    _, hint = notes_of(answered(run, several, "--relation", "replace-one"))
    assert hint == "hint: write scale=S,sensitivity=2 where the noise is S C"
    assert not notes_of(answered(run, several))


def test_the_same_is_said_once_of_a_stream(run: Callable[..., Outcome]) -> None:
    """Of a thousand lines the first has the note, with its number."""
    asked = "pure:epsilon=1\n" + "gaussian:sigma=9@wor:q=0.1\n" * 5 + "laplace:scale=9@wor:q=0.1\n"
    done = answered(run, "compose - --delta 1e-3 --json", stdin=asked)
    notes = [each for each in done.stderr.splitlines() if "note: " in each]
    assert [each.split(" is assumed")[0] for each in notes] == [
        "privcalc: line 2: note: sensitivity 1",
        "privcalc: line 7: note: sensitivity 1",
    ]


def test_an_answer_is_a_question_with_what_it_assumed(run: Callable[..., Outcome]) -> None:
    """The next command in a pipe reads it, and assumes the same."""
    first = answered(run, f"compose {SPEC} --delta 1e-5 --json")
    second = answered(run, "compose - --delta 1e-5 --json", stdin=first.stdout)
    assert second.stdout == first.stdout
