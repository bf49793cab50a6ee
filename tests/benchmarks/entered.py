"""Benchmark of how much of the package a question walks through: files entered, modules loaded.

Run `python -m tests.benchmarks.entered`. A file counts as entered where one of its functions is
executed by the process; what a module does while it is loaded (class bodies, tables) does not
count. No machine disturbs these numbers.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

# Each with the most files that the design allows.
COMMANDS = {
    "closed form": (["compose", "gaussian:sigma=1", "--delta", "1e-5"], 45),
    "DP-SGD": (["compose", "gaussian:sigma=1.1@poisson:q=256/60000@14063", "--delta", "1e-5"], 60),
}
# Those of a module count as its body.
COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


def entered(arguments: list[str]) -> tuple[set[str], set[str]]:
    """Answer a question in this process; return the files entered and the modules loaded."""
    codes = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        from privcalc.cli.app import main

        with redirect_stdout(StringIO()):
            main(arguments)
    finally:
        sys.setprofile(None)
    root = str(Path(sys.modules["privcalc"].__file__ or "").parent)
    files = {
        str(Path(code.co_filename).relative_to(root))
        for code in codes
        if code.co_filename.startswith(root)
        and code.co_flags & inspect.CO_OPTIMIZED
        and code.co_name not in COMPREHENSIONS
    }
    return files, {name for name in sys.modules if name.partition(".")[0] == "privcalc"}


def main() -> None:
    """Ask each question in a process of its own; with `--files`, list what was entered, too."""
    for title, (_, target) in COMMANDS.items():
        run = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.entered", "--one", title],
            capture_output=True,
            text=True,
            check=True,
        )
        count, *files = run.stdout.splitlines()
        print(f"{title:<12} {len(files)} files entered (target {target}), {count} modules loaded")
        if "--files" in sys.argv[1:]:
            print("".join(f"    {name}\n" for name in files), end="")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        walked, loaded = entered(COMMANDS[sys.argv[2]][0])
        print(len(loaded), *sorted(walked), sep="\n")
    else:
        main()
