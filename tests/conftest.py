"""Fixtures for all tests: a fixed environment, and the command line run in this process."""

from __future__ import annotations

import gc
import importlib
import io
import os
import pkgutil
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import mpmath
import pytest

import privcalc.accounting
from privcalc.cli.app import main
from privcalc.numerics import work
from tests.fake_accounting import FakeAccounting

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
MNIST = "gaussian:sigma=1.1@poisson:q=256/60000@14063"


def pytest_collection() -> None:
    """Collect thousands of tests without looking for garbage among them."""
    gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let tests be run in parts, at different times."""
    parser.addoption("--part", metavar="K/N", help="run the K-th of N parts, as names fall")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow all but the cases, evenly spaced, of which `few(n)` says that n are enough.

    And those that begin as `dear` says: the other cases ask the same of the product. Where a part
    is asked for, all other tests are left out.
    """
    for item in items:
        case = item.nodeid.partition("[")[2]
        if any(case.startswith(tuple(each.args)) for each in item.iter_markers("dear")):
            item.add_marker(pytest.mark.slow)
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for group in cases.values():
        marker = group[0].get_closest_marker("few")
        kept = int(marker.args[0]) if marker else len(group)
        for k, item in enumerate(group):
            if k * kept // len(group) == (k - 1) * kept // len(group):
                item.add_marker(pytest.mark.slow)
    part = config.getoption("--part")
    if part:
        which, parts = (int(each) for each in part.split("/"))
        if not 1 <= which <= parts:
            raise pytest.UsageError("--part is K/N, with K from 1 to N")
        others = [each for each in items if crc32(each.nodeid.encode()) % parts != which - 1]
        items[:] = [each for each in items if crc32(each.nodeid.encode()) % parts == which - 1]
        config.hook.pytest_deselected(items=others)


def pytest_collection_finish() -> None:
    """Spare the collector what lives to the end: it would go through all of it in every test."""
    gc.enable()
    gc.freeze()


@pytest.fixture(autouse=True)
def _digits() -> None:
    """Give each test 40 digits, whatever the tests and modules before it have set."""
    mpmath.mp.dps = 40


@pytest.fixture(autouse=True, scope="session")
def _work_is_never_given_back() -> None:
    """Let every test fail that charges less than nothing, which would leave more to spend."""

    def counted(self: object, name: str, value: float) -> None:
        assert name != "spent" or value >= getattr(self, name), "work below 0 was charged"
        object.__setattr__(self, name, value)

    work._Allowance.__setattr__ = counted  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what would make output depend on where the tests run."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS", "NO_COLOR", "PRIVCALC_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@dataclass(frozen=True)
class Outcome:
    """What one run of the command line did."""

    status: int
    stdout: str
    stderr: str


class Terminal(io.TextIOWrapper):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Pretend."""
        return True


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Run the command line in this process."""

    def call(*arguments: str, stdin: str | bytes = b"", terminal: bool = False) -> Outcome:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        stream = Terminal if terminal else io.TextIOWrapper
        monkeypatch.setattr(sys, "stdin", stream(io.BytesIO(content)))
        capsys.readouterr()
        status = main(arguments)
        captured = capsys.readouterr()
        return Outcome(int(status), captured.out, captured.err)

    return call


@pytest.fixture
def accounting(monkeypatch: pytest.MonkeyPatch) -> FakeAccounting:
    """Answer `compose` with what the test puts into the returned object."""
    # What asks the real one must not meet the fake when it is first imported.
    for each in pkgutil.iter_modules(privcalc.accounting.__path__):
        importlib.import_module(f"privcalc.accounting.{each.name}")
    fake = FakeAccounting()
    module = types.ModuleType("privcalc.accounting.compose")
    module.compose = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(privcalc.accounting, "compose", module, raising=False)
    # Made-up costs have nothing that would fit.
    monkeypatch.setattr("privcalc.commands.budget.suggestion", lambda *_, **__: "")
    return fake


def unmeasured() -> dict[str, str]:
    """Return an environment in which a measurement of coverage loads nothing of its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120, **options}
    command = [sys.executable, "-m", "privcalc", *arguments]
    return subprocess.run(command, check=False, **settings)
