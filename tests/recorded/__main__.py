"""Lines of `lines.txt` with what they print and their exit statuses.

python -m tests.recorded            says which answers differ from those recorded
python -m tests.recorded --write    records those of today, and says the same
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from privcalc.cli.app import main as privcalc

LINES = Path(__file__).with_name("lines.txt")
ANSWERS = LINES.with_name("answers.jsonl")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
# Ends are doubles and may move by what no user can see, a part of themselves: a delta of 1e-20 too.
RELATIVE = 3e-6
# What errors came to, and how wide a bracket is, is said with a digit or two.
ROUGH = re.compile(
    r'"terms": \{[^}]*\}|(?:aliasing|truncation|rounding|dropped|lists|relative width) [0-9.e-]+'
)

Answer = tuple[int, str, str]


def answer(line: str) -> Answer:
    """Return the exit status of a line, what it prints, and what it says beside that."""
    out, err = io.StringIO(), io.StringIO()
    os.environ["COLUMNS"] = "100"
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = privcalc(shlex.split(line)) or 0
        except SystemExit as done:
            status = int(done.code or 0)
    return status, out.getvalue(), err.getvalue()


def alike(one: str, other: str) -> bool:
    """Say whether two texts have the same words, and numbers that are as good as equal."""
    one, other = (ROUGH.sub("", text) for text in (one, other))
    if one == other:
        return True
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(a == b or abs(float(a) - float(b)) <= RELATIVE * abs(float(a)) for a, b in pairs)


def recorded() -> dict[str, Answer]:
    """Return the recorded answers."""
    rows = map(json.loads, ANSWERS.read_text(encoding="utf-8").splitlines())
    return {line: (status, out, err) for line, status, out, err in rows}


def main() -> None:
    """Ask all lines, and compare."""
    lines = LINES.read_text(encoding="utf-8").splitlines()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(lines, pool.map(answer, lines, chunksize=4), strict=True))
    known = recorded() if ANSWERS.exists() else {}
    different = 0
    for line, (status, out, err) in found.items():
        before = known.get(line)
        if before is None or before == (status, out, err):
            continue
        if before[0] == status and alike(before[1], out) and alike(before[2], err):
            continue
        different += 1
        print(f"$ privcalc {line}")
        texts = before[1] + before[2], out + err
        for old, new in zip(*(text.splitlines() for text in texts), strict=False):
            if not alike(old, new):
                print(f"  - {old[:300]}\n  + {new[:300]}")
        if before[0] != status:
            print(f"  status {before[0]} -> {status}")
    print(f"{different} of {len(lines)} differ")
    if "--write" in sys.argv:
        rows = [json.dumps([line, *each]) for line, each in found.items()]
        ANSWERS.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
