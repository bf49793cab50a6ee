"""Long specifications: every input takes them, JSON has the whole, all else describes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from privcalc.spec.json import to_json
from privcalc.spec.registry import to_text
from tests.spec.spec_trees import ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
    from tests.fake_accounting import FakeAccounting

LEDGER = to_text(ledger(301))
WORDS = "301 mechanisms: 101 laplace, 100 gaussian@poisson, 100 randomized-response; 15,552 uses"
CURVES = "+".join(f"zcdp:rho={0.001 + k / 2**20!r}" for k in range(300))
ZCDP = "300 mechanisms, all zcdp, rho from 0.001 to 0.00129"
AT = ("--delta", "1e-6")


@pytest.mark.parametrize(
    "form", ["table", "markdown", "csv", "statement", "github", "json", "terse", "verbose"]
)
@pytest.mark.parametrize("piped", [False, True])
def test_formats(
    form: str, run: Callable[..., Outcome], accounting: FakeAccounting, *, piped: bool
) -> None:
    """Each format but JSON has the description once or twice; JSON has the text and its twin."""
    options = {"terse": ["-t"], "verbose": ["-v"]}.get(form, ["--format", form])
    spec, stdin = ("-", LEDGER + "\n") if piped else (LEDGER, "")
    done = run("compose", spec, *AT, *options, stdin=stdin)
    assert (done.status, accounting.calls[0]["tree"]) == (0, ledger(301))
    if form == "json":
        answer = json.loads(done.stdout)
        assert (answer["text"], answer["spec"]) == (LEDGER, to_json(ledger(301)))
        again = run("compose", "-", *AT, *options, stdin=done.stdout)
        assert again.stdout == done.stdout
        return
    assert (WORDS in done.stdout) == (form != "terse")
    assert len(done.stdout) + len(done.stderr) < 2000
    if form == "statement":
        assert "`privcalc compose SPEC --delta 1e-6 --format statement" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("entries", [1_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_up_to_a_megabyte(
    entries: int, run: Callable[..., Outcome], accounting: FakeAccounting
) -> None:
    """Entries on standard input and back, and what is wrong with the last of them."""
    text = to_text(ledger(entries))
    assert len(text) > 30 * entries
    done = run("compose", "-", *AT, "--json", stdin=text)
    assert (done.status, json.loads(done.stdout)["text"]) == (0, text)
    assert run("compose", "-", *AT, "--json", stdin=done.stdout).stdout == done.stdout
    assert len(accounting.calls) == 2
    for form in ("json", "table", "github"):
        wrong = run("compose", "-", *AT, "--format", form, stdin=f"{text}+gaussian:sgma=1")
        assert wrong.status == 2
        assert "sgma" in wrong.stderr
        assert len(wrong.stderr) < (11_000 if form == "json" else 400)
    error = json.loads(run("compose", f"{text:<1000001}", *AT, "--json").stderr)
    assert error["message"].startswith("a specification has at most 1,000,000 characters")


@pytest.mark.slow
@pytest.mark.slow
def test_histories_keep_their_name(
    run: Callable[..., Outcome],
    accounting: FakeAccounting,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file is named, alone or in a sum, and what is printed as JSON means the same."""
    monkeypatch.chdir(tmp_path)
    history = [[1.5 - k / 1024, 0.004, 14] for k in range(300)]
    (tmp_path / "h.json").write_text(json.dumps({"history": history, "mechanism": "rdp"}))
    steps = "4,200 steps, 300 noise multipliers from 1.5 to 1.21, rate 0.004"
    done = run("compose", "opacus:file=h.json", *AT)
    assert done.stdout.splitlines()[0] == f"spec         opacus:file=h.json: {steps}"
    both = run("compose", "opacus:file=h.json", "laplace:scale=2", *AT)
    assert both.stdout.splitlines()[0] == (
        "spec         opacus:file=h.json+laplace:scale=2: 301 mechanisms: 300 gaussian@poisson,"
        " 1 laplace; 4,201 uses"
    )
    printed = run("compose", "opacus:file=h.json", *AT, "--json").stdout
    again = run("compose", "-", *AT, stdin=printed)
    assert again.stdout.splitlines()[0] == f"spec         {steps}"
    assert accounting.calls[0]["tree"] == accounting.calls[-1]["tree"]


@pytest.mark.slow
def test_calibrations(run: Callable[..., Outcome]) -> None:
    """The value that was found is in the table; the answer in JSON is what the check is of."""
    noises = "+".join(f"gaussian:sigma={k + 100}" for k in range(60))
    ask = ("calibrate", f"{noises}+gaussian:sigma=_", "--epsilon", "4", *AT)
    table = run(*ask).stdout
    assert table.startswith("spec         61 mechanisms, all gaussian, sigma from 159 to 1.2\n")
    check = "privcalc compose - --delta 1e-6 --max-epsilon 4"
    assert f"check   the same with --json, piped into {check}" in table
    done = run(*check.split()[1:], stdin=run(*ask, "--json").stdout)
    assert (done.status, "within budget" in done.stdout) == (0, True)
    several = run("calibrate", noises.replace("=1", "=_+gdp:mu=1"), "--epsilon", "4", *AT)
    assert several.status == 2
    assert len(several.stderr) < 400


def test_budget_files(run: Callable[..., Outcome], tmp_path: Path) -> None:
    """A file may have thousands of characters in one place, and has a row for each mechanism."""
    file = tmp_path / "privacy.toml"
    head = "[budget]\nrho = 2\n[[mechanism]]\nname = 'all'\n"
    file.write_text(f"{head}spec = '{CURVES}'\n")
    done = run("compose", "--file", str(file))
    assert done.status == 0
    assert done.stdout.startswith(f"spec      {ZCDP}\n")
    file.write_text(f"{head}note = '{'x' * 1_000_000}'\n")
    refused = run("compose", "--file", str(file))
    assert (refused.status, "more than 1,000,000 characters" in refused.stderr) == (2, True)
