"""Check certificates: python -m tests.checker FILE..."""

from __future__ import annotations

import sys
from pathlib import Path

try:
    from tests.checker.check import Verdict, check
except ModuleNotFoundError as error:
    if error.name != "flint":
        raise
    sys.exit("the checker needs python-flint: pip install -e '.[dev]', or pip install python-flint")


def main(names: list[str]) -> int:
    """Print what is found of each file; return 0 if all are accepted."""
    worst = 0
    for name in names:
        try:
            verdict = check(Path(name).read_text(encoding="utf-8"))
        except (OSError, UnicodeError) as error:
            verdict = Verdict("refused", str(error))
        print(f"{name}: {verdict.word}{': ' if verdict.why else ''}{verdict.why}")
        worst = max(worst, {"accepted": 0, "not checked": 1, "refused": 2}[verdict.word])
    return worst if names else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
