r"""Transcripts: lines as people type them, each with what it prints and its exit status.

    python -m tests.transcripts            says which lines print something else than before
    python -m tests.transcripts --write    writes down what they print today
    python -m tests.transcripts slips      of one file alone

To add a line, write it below `$ ` into the file of its command, and run the second. What goes to
standard error begins with `! `, and a status that is not 0 stands in brackets at the end. Behind
`<<< ` stands what is read from standard input, in one word with `\n` for the end of a line.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from privcalc.cli.app import main as privcalc

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.txt"))
# What some lines read.
MECHANISM = '\n[[mechanism]]\nname = "a"\nspec = "gaussian:sigma=9"\n'
COUNTS = '\n[[mechanism]]\nname = "counts"\nspec = "laplace:scale=2"\nnote = "of 2026"\n'
READ = {
    "within.toml": f"[budget]\nepsilon = 3\ndelta = 1e-5\n{MECHANISM}{COUNTS}",
    "over.toml": f"[budget]\nepsilon = 0.1\ndelta = 1e-5\n{MECHANISM}{COUNTS}",
    "counted.toml": f"[budget]\nepsilon = 3\ndelta = 1e-5\n{MECHANISM}count = 5\n",
    "rho.toml": f'[budget]\nrho = "1/9"\n{MECHANISM}{COUNTS}',
    "mu.toml": f"[budget]\nmu = 1.12499999999999999999999999\n{MECHANISM}{COUNTS}",
    "undecided.toml": f"[budget]\nepsilon = 0.9\ndelta = 1e-5\n{MECHANISM}".replace(
        "gaussian:sigma=9", "zcdp:rho=0.1"
    ),
    "relation.toml": f'[budget]\nepsilon = 3\ndelta = 1e-5\nrelation = "replace-one"\n{MECHANISM}',
    "votes.txt": "200 30 20\n",
    "pair.csv": "0.2 0.3\n0.8 0.7\n",
    "infinite.csv": "0.4 0.5\n0.4 0.5\n0.2 0\n",
    "orders.csv": "order epsilon\n2 0.04\n8 0.16\n32 0.64\n",
    "runs.csv": "runs,probability\n0,1/8\n1,3/8\n2,3/8\n3,1/8\n",
    "history.json": '{"history": [[1.1, 0.01, 100]], "mechanism": "rdp"}\n',
    "comma.toml": f"[budget]\nepsilon = 0,5\ndelta = 1e-5\n{MECHANISM}",
    "ratio.toml": f"[budget]\nepsilon = 3\ndelta = 1/60000\n{MECHANISM}",
    "colon.toml": f"[budget]\nepsilon: 3\ndelta: 1e-5\n{MECHANISM}",
    "top.toml": f"epsilon = 3\ndelta = 1e-5\n{MECHANISM}",
    "quotes.toml": "[[mechanism]]\nname = training\nspec = gaussian:sigma=9\n",
}
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
# Ends are doubles and may move by what no user can see, a part of themselves: a delta of 1e-20 too.
RELATIVE = 3e-6
# What errors came to, and how wide a bracket is, is said with a digit or two.
ROUGH = re.compile(
    r'"terms": \{[^}]*\}|(?:aliasing|truncation|rounding|dropped|lists|relative width) [0-9.e-]+'
)
_STATUS = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True)
class Entry:
    """A line with what it prints on either stream, and its exit status."""

    line: str
    out: str
    err: str
    status: int

    def written(self) -> str:
        """Return the entry as it stands in a file."""
        lines = [f"$ privcalc {self.line}"]
        # What would be read as something else is marked.
        lines += [f"\\{x}" if x[:1] in ("$", "#", "!", "[", "\\") else x for x in _lines(self.out)]
        lines += [f"! {each}" for each in _lines(self.err)]
        lines += [f"[{self.status}]"] if self.status else []
        return "\n".join(lines)


def _lines(text: str) -> list[str]:
    """Return lines, of which the last ends."""
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []


def _text(lines: list[str]) -> str:
    return "".join(f"{each}\n" for each in lines)


def read(file: Path) -> list[Entry | str]:
    """Return the entries of a file, and the headings between them."""
    found: list[Entry | str] = []
    out: list[str] = []
    err: list[str] = []
    line, status = "", 0

    def close() -> None:
        while out and not out[-1]:
            # An empty line before the next entry.
            out.pop()
        if line:
            found.append(Entry(line, _text(out), _text(err), status))

    for text in [*file.read_text(encoding="utf-8").split("\n"), "$ privcalc "]:
        if text.startswith(("$ ", "# ")):
            close()
            out, err, line, status = [], [], text.removeprefix("$ privcalc "), 0
            if text.startswith("# "):
                found.append(text)
                line = ""
        elif text.startswith("! ") or text == "!":
            err.append(text[2:])
        elif told := _STATUS.fullmatch(text):
            status = int(told[1])
        else:
            out.append(text.removeprefix("\\"))
    return found


def entries(file: Path) -> list[Entry]:
    """Return the entries of a file."""
    return [each for each in read(file) if isinstance(each, Entry)]


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that has the files that lines may read, for as long as this process runs."""
    folder = tempfile.TemporaryDirectory()
    for name, content in READ.items():
        (Path(folder.name) / name).write_text(content, encoding="utf-8")
    return folder


def answer(line: str) -> Entry:
    """Ask a line in this process."""
    out, err = io.StringIO(), io.StringIO()
    question, _, read = line.partition(" <<< ")
    stdin = "".join(shlex.split(read)).replace(r"\n", "\n")
    os.environ["COLUMNS"] = "100"
    before = Path.cwd(), sys.stdin
    os.chdir(_folder().name)
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = privcalc(shlex.split(question))
    finally:
        os.chdir(before[0])
        sys.stdin = before[1]
    texts = [_text([x.rstrip() for x in _lines(t.getvalue())]) for t in (out, err)]
    # Files have no empty lines at the end of an entry.
    return Entry(line, f"{texts[0].rstrip()}\n" if texts[0].strip() else "", texts[1], int(status))


def alike(one: str, other: str) -> bool:
    """Say whether two texts have the same words, and numbers that are as good as equal."""
    one, other = (ROUGH.sub("", text) for text in (one, other))
    if one == other:
        return True
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(a == b or abs(float(a) - float(b)) <= RELATIVE * abs(float(a)) for a, b in pairs)


def same(one: Entry, other: Entry) -> bool:
    """Say whether two entries say the same."""
    return one.status == other.status and alike(one.out, other.out) and alike(one.err, other.err)


def main() -> None:
    """Ask all lines, and compare."""
    different = asked = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        named = set(sys.argv[1:]) - {"--write"}
        for file in (each for each in FILES if not named or each.stem in named):
            known = read(file)
            lines = [each.line for each in known if isinstance(each, Entry)]
            found = dict(zip(lines, pool.map(answer, lines, chunksize=4), strict=True))
            for before in (each for each in known if isinstance(each, Entry)):
                now = found[before.line]
                if not same(before, now):
                    different += 1
                    print(f"{before.written()}\n-->\n{now.written()}\n")
            asked += len(lines)
            if "--write" in sys.argv:
                texts = [x if isinstance(x, str) else found[x.line].written() for x in known]
                file.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    print(f"{different} of {asked} differ")
