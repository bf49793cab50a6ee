"""What people type, with what is printed: slips, and answers that need a reason.

    python -m tests.cli.slips

runs every line of `slips.txt` and `reasons.txt` that begins with `$`, and writes what it prints
below it.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import tempfile
from pathlib import Path

from privcalc.cli.app import main as privcalc

FILE = Path(__file__).parent / "slips.txt"
REASONS = FILE.with_name("reasons.txt")
# What the lines read.
MECHANISM = '\n[[mechanism]]\nname = "a"\nspec = "gaussian:sigma=9"\n'
FILES = {
    "history.json": '{"history": [[1.1, 0.01, 100]], "mechanism": "rdp"}\n',
    "comma.toml": f"[budget]\nepsilon = 0,5\ndelta = 1e-5\n{MECHANISM}",
    "ratio.toml": f"[budget]\nepsilon = 3\ndelta = 1/60000\n{MECHANISM}",
    "colon.toml": f"[budget]\nepsilon: 3\ndelta: 1e-5\n{MECHANISM}",
    "quotes.toml": "[[mechanism]]\nname = training\nspec = gaussian:sigma=9\n",
}


def slips(file: Path = FILE) -> list[tuple[str, str]]:
    """Return the lines of a file, each with what it prints but for empty lines."""
    found: list[tuple[str, str]] = []
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].rstrip("\n"), ""))
        elif found and not line.startswith("# ") and line.strip():
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def arguments(line: str) -> list[str]:
    """Return the words of a line as a shell hands them on."""
    return shlex.split(line)[1:]


def write_files(folder: Path) -> None:
    """Write the files that the lines read."""
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")


def printed(line: str) -> str:
    """Return what a line prints, on either stream."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        privcalc(arguments(line))
    return out.getvalue()


def main() -> None:
    """Write both files anew."""
    for file in (FILE, REASONS):
        write(file)


def write(file: Path) -> None:
    """Write a file anew."""
    lines = file.read_text(encoding="utf-8").splitlines()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        os.chdir(folder)
        kept = [line for line in lines if line.startswith(("$ ", "# "))]
        written = [
            f"{line}\n{printed(line[2:])}" if line.startswith("$ ") else f"\n{line}\n"
            for line in kept
        ]
        os.chdir(before)
    file.write_text("\n".join(written).lstrip("\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
