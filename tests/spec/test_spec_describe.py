"""Help, manual table and JSON Schema are made from the registry."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from man.schema import spec_schema, spec_schema_text
from privcalc.accounting.compose import compose
from privcalc.errors import SpecError
from privcalc.spec import registry
from privcalc.spec.describe import TOPICS, overview, page, rows
from privcalc.spec.json import from_json
from privcalc.spec.parse import parse
from privcalc.spec.tree import Composed
from tests.spec.spec_trees import extra_entries

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = Path(registry.__file__).parents[1] / "schema" / "spec-v1.json"


@pytest.fixture
def extra() -> Iterator[None]:
    """Let the test-only mechanisms be known."""
    with extra_entries():
        yield


def test_the_overview_fits_a_screen_and_names_everything() -> None:
    """The language on one screen of 80 columns, and each example on it reads."""
    text = overview()
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 66
    for row in rows():
        assert re.search(rf"^  {row.spelling} +{re.escape(row.line)}$", text, re.MULTILINE)
    examples = [line.split("  ")[1].strip("' ") for line in text.splitlines()[2:7]]
    for example in examples:
        assert parse(example)


def test_the_rows_of_the_manual() -> None:
    """Each has the spellings of its name, and a clause."""
    table = {row.spelling: row for row in rows()}
    assert "rr" in table["randomized-response"].spellings
    assert "poisson_sampled" in table["poisson"].spellings
    assert table["poisson"].kind == "wrapper"
    assert all(row.summary and not row.summary.endswith(".") for row in table.values())


def test_every_name_has_a_line() -> None:
    """It fits beside the name in a list, and ends without a full stop; no two are the same."""
    lines = [*(row.line for row in rows()), *TOPICS.values()]
    assert all(0 < len(line) <= 60 and not line.endswith(".") for line in lines), lines
    assert len(set(lines)) == len(lines)


# What people look for, and what has to be named there.
WORDS = {
    "lora fine-tuning ddp fsdp optimizer gradient": "gaussian:sigma=NOISE@",
    "accumulation microbatch": "@STEPS",
    "clipping max-grad-norm ghost-clipping": "sensitivity=NORM",
    "checkpoint early-stopping ema post-processing inference": "costs nothing more",
    "hyperparameter grid-search tuning optuna": "@select:runs=geometric:mean=MEAN",
    "tables queries workload composition adaptive": "A\\+B",
    "pate teacher votes": "gnmax",
    "ldp local rappor": "rr:epsilon",
    "attack mia membership risk advantage": "--to\\s+risk",
    "tradeoff roc fpr f-dp": "--to\\s+tradeoff",
    "certificate proof bracket": "--certificate FILE",
    "pld prv moments engine": "--engine",
    "ledger history spent filter": "privacy.toml",
    "budget ci": "--file",
    "quantile median": "exponential:epsilon",
    "histogram group-by marginals": "sensitivity=2",
    "user-level household": "@group:k=RECORDS",
    "epochs num-epochs": "batch size",
    "shuffling reshuffle": "@batches:t=STEPS",
    "neighbours adjacency bounded unbounded": "--relation",
    "calibrate noise target": "privcalc calibrate",
    "federated fedavg secagg": "CLIENTS",
    "synthetic mst aim": "exponential:epsilon",
    "plot figure": "--plot",
    "census": "discrete-gaussian",
    "pytorch dataloader jax": "--help-spec\\s+sampling",
    "regression votes": "ops|gnmax",
}


@pytest.mark.parametrize(("words", "named"), WORDS.items())
def test_words_that_are_no_names(words: str, named: str) -> None:
    """Each is explained, with the lines of what is named there, and has no list of all names."""
    for word in words.split():
        text = page(word)
        assert re.search(named, text), text
        assert text.count("\n") < 12
        for spelling, line in re.findall(r"^  (\S+) +(.+)$", text, re.MULTILINE):
            assert spelling in {row.spelling: row for row in rows() if row.line == line}
    with pytest.raises(SpecError, match="unknown mechanism or wrapper"):
        page("frobnicate")


@pytest.mark.slow
@pytest.mark.usefixtures("extra")
def test_every_page_explains_its_entry() -> None:
    """A page has the parameters with ranges, the rules, the relations and an example."""
    for entry in (*registry.mechanisms(), *registry.wrappers()):
        for name in entry.spellings:
            assert page(entry.name) == page(name)
        text = page(entry.name)
        assert entry.example in text
        for parameter in entry.parameters:
            assert parameter.spelling in text
            assert parameter.range_text in text
    assert "exactly one of sigma or variance or rho or noise_multiplier" in page("Gaussian")
    assert "Kairouz" in page("pure")
    assert "Attributes" not in page("pure")
    assert "m <= n" in page("ts")
    assert "two-sided" in page("tk")


def test_every_page_begins_in_plain_words() -> None:
    """A reader who knows no mathematics understands the first sentence of each page."""
    entries = (*registry.mechanisms(), *registry.wrappers())
    assert all(entry.plain for entry in entries)
    for entry in entries:
        first = " ".join(page(entry.name).split("\n\n")[0].split())
        assert first == f"{entry.spelling}: {entry.plain}"
        assert first.endswith(".")
        assert " ".join(entry.summary.split()) in " ".join(page(entry.name).split())


def test_disjoint_parts_are_explained() -> None:
    """As a mechanism is: on lines that fit, with an example that reads; found if misspelled."""
    text = page("max")
    assert page("MAX") == text
    assert max(map(len, text.splitlines())) <= 80
    example = next(line for line in text.splitlines() if line.startswith("  'max("))
    assert isinstance(parse(example.strip(" '")).tree, Composed)
    with pytest.raises(SpecError) as caught:
        page("maxx")
    assert "max" in caught.value.hint


def test_formulas_keep_their_lines() -> None:
    """What is indented in a docstring is a formula that stands by itself."""
    lines = page("exponential").splitlines()
    assert any(line.startswith("      delta(x) = (1 - e^{(x - eta)/2})^2") for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", ["profile", "pmf"])
def test_the_example_of_a_file_is_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page shows the file, and with that file the example has an answer."""
    entry = registry.entry(name)
    text = page(name)
    assert "whose name has a dot or a slash in it" in text
    shown = text.partition("The file of the example\n")[2].partition("\n\nIn full\n")[0]
    assert [line.strip() for line in shown.splitlines()] == entry.example_file.splitlines()
    monkeypatch.chdir(tmp_path)
    Path(f"{name}.csv").write_text(entry.example_file, encoding="utf-8")
    (answer,) = compose(parse(entry.example).tree, deltas=[1e-3]).answers
    assert answer.method.tolerance_met


@pytest.mark.slow
def test_the_shipped_schema_is_the_registry() -> None:
    """privcalc/schema/spec-v1.json is what `python -m man.schema` writes."""
    assert SCHEMA.read_text(encoding="utf-8") == spec_schema_text()
    jsonschema.Draft202012Validator.check_schema(spec_schema())


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize(
    "value",
    [
        [],
        {"type": "unknown"},
        {"type": "gaussian"},
        {"type": "gaussian", "standard_deviation": 0},
        {"type": "gaussian", "standard_deviation": "1"},
        {"type": "gaussian", "standard_deviation": 1, "noise_multiplier": 1},
        {"type": "gaussian", "noise_multiplier": 1, "sensitivity": 1},
        {"type": "gaussian", "standard_deviation": 1, "sigma": 1},
        {"type": "pure", "epsilon": True},
        {"type": "randomized_response", "probability": 0.5, "categories": 2.5},
        {"type": "randomized_response", "probability": 1},
        {"type": "composed", "events": []},
        {"type": "self_composed", "count": 0, "event": {"type": "pure", "epsilon": 1}},
        {"type": "poisson_sampled", "sampling_probability": 1},
        {"type": "test_kinds", "noise": "other"},
        {"type": "test_kinds", "noise": "gaussian", "file_name": "x"},
        {"type": "test_kinds", "noise": "gaussian", "label": "A"},
        {"type": "test_spec", "test": {"type": "pure"}},
        {"type": "test_sampled", "source_dataset_size": 1, "event": {"type": "test_bare"}},
    ],
)
def test_the_schema_and_the_reader_refuse_alike(value: object) -> None:
    """What the schema refuses, the reader refuses."""
    assert list(jsonschema.Draft202012Validator(spec_schema()).iter_errors(value))
    with pytest.raises(SpecError):
        from_json(value)
