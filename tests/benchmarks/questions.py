"""Benchmark of two trees: the frozen questions, asked of both in one sitting.

Run `python -m tests.benchmarks.questions OLD NEW --questions FOLDER`. Each tree has a process of
its own, and each question goes to one and then to the other, so that what disturbs the machine
disturbs both. A line for each question shows width, ends and processor time side by side; at the
end stands what is lost, disjoint, wider or slower, and the median time of each regime. The exit
status is 1 where something is lost, disjoint or newly wider than what nobody sees.

FOLDER has files of JSON Lines, each line with `id`, `set` and `args` (the words of a command line),
and the tables that they name; questions are asked from there.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from pathlib import Path

# A bracket counts as wider from so many times the width before, of which less than LEAST is noise.
WIDER, LEAST = 3.0, 1e-10
# A relative width that no reader of ten digits at a time would notice, the default target.
VISIBLE = 1e-6
# Two runs of one tree differ by 20 %; what takes no time differs by more.
SLOWER, SECONDS = 1.2, 0.05
# Numbers of one answer that are all printed.
FEW = 5
# Ends of the same number that were rounded differently.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Bracket:
    """Both ends of one number, the lower one None where nothing is proved."""

    lower: float | None
    upper: float


@dataclass(frozen=True)
class Reply:
    """What a tree says to one question, and the processor time that it took."""

    status: int
    seconds: float
    brackets: dict[str, Bracket]
    verdicts: list[str]
    error: str

    @property
    def answered(self) -> bool:
        """Whether there is a number."""
        return self.status in (0, 1)


class Tree:
    """A tree in a process of its own, to which questions go one by one."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Start it in the folder of the questions."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, "--answer", str(root.resolve())],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, args: list[str]) -> Reply:
        """Ask one question."""
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("the process has pipes")
        self._process.stdin.write(json.dumps(args) + "\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        objects = [json.loads(line) for line in found["out"].splitlines()]
        return Reply(
            found["status"],
            found["seconds"],
            dict(pair for k, each in enumerate(objects) for pair in brackets(each["result"], k)),
            [each["check"]["verdict"] for each in objects if "check" in each],
            found["error"],
        )

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate()


def answer(root: str) -> None:
    """Answer the questions on standard input with the tree at this path."""
    sys.path.insert(0, root)
    from privcalc.cli.app import main

    for line in sys.stdin:
        out, error = StringIO(), StringIO()
        start = time.process_time()
        try:
            with redirect_stdout(out), redirect_stderr(error):
                status = int(main((*json.loads(line), "--json")))
        except (Exception, SystemExit) as raised:  # noqa: BLE001 - a crash is a lost answer.
            status = 2
            error.write(repr(raised))
        row = {
            "status": status,
            "seconds": time.process_time() - start,
            "out": out.getvalue(),
            "error": error.getvalue()[:300],
        }
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


def brackets(value: object, place: object) -> list[tuple[str, Bracket]]:
    """Return every bracket in a result with where it stands.

    The two values of a calibrated parameter are one: each tree may end at another sigma, but what
    one proves to be too little the other must not prove to be enough.
    """
    if isinstance(value, list):
        return [pair for k, each in enumerate(value) for pair in brackets(each, f"{place}.{k}")]
    if not isinstance(value, dict):
        return []
    if "parameter" in value:
        ends = [float(value[name]) for name in ("insufficient", "sufficient") if name in value]
        bracket = Bracket(min(ends) if len(ends) > 1 else None, max(ends))
        return [(f"{place}.{value['parameter']}", bracket)]
    if "upper" in value and set(value) <= {"lower", "upper"}:
        lower = float(value["lower"]) if "lower" in value else None
        return [(str(place), Bracket(lower, float(value["upper"])))]
    return [pair for key, each in value.items() for pair in brackets(each, f"{place}.{key}")]


def widths(old: Bracket, new: Bracket) -> tuple[float, float]:
    """Return both relative widths.

    Where neither has a lower end, each upper end is compared with the smaller one.
    """
    floor = min(old.upper, new.upper) if old.lower is None and new.lower is None else None

    def width(each: Bracket) -> float:
        lower = each.lower if floor is None else floor
        if lower is None:
            return 1.0
        if each.upper == lower:
            return 0.0
        return (each.upper - lower) / each.upper if math.isfinite(each.upper) else 1.0

    return width(old), width(new)


def disjoint(old: Bracket, new: Bracket) -> bool:
    """Say whether one lies above the other."""
    return any(
        low.lower is not None and high.upper < low.lower * (1.0 - ROUNDING)
        for low, high in ((old, new), (new, old))
    )


def shown(bracket: Bracket) -> str:
    """Write both ends."""
    low = "-" if bracket.lower is None else f"{bracket.lower:.12g}"
    return f"[{low}, {bracket.upper:.12g}]"


class Comparison:
    """What differs between the trees so far, as lines by what is wrong."""

    def __init__(self) -> None:
        """Begin with nothing."""
        titles = ("lost", "disjoint", "newly wider than 1e-06", "wider by 3 x", "slower")
        self.found: dict[str, list[tuple[float, str]]] = {title: [] for title in titles}
        self._times: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)

    def add(self, question: dict[str, object], old: Reply, new: Reply, words: str) -> None:
        """Compare two answers to one question, and print them."""
        self._times[str(question["set"])].append((old.seconds, new.seconds))
        print(f"{question['id']} {words}")
        print(f"    cpu {old.seconds:.3f} -> {new.seconds:.3f}")
        if old.answered and not new.answered:
            self._add("lost", 0.0, f"{words}: {new.error}")
        if [each for each in old.verdicts if each != "undecided"] != [
            after
            for before, after in zip(old.verdicts, new.verdicts, strict=False)
            if before != "undecided"
        ]:
            self._add("lost", 0.0, f"{words}: verdicts {old.verdicts} -> {new.verdicts}")
        # Once a question, for its worst number.
        worst: dict[str, tuple[float, str]] = {}
        rows: list[tuple[float, str]] = []
        for place, before in old.brackets.items():
            after = new.brackets.get(place)
            if after is None or (math.isinf(after.upper) and math.isfinite(before.upper)):
                if new.answered:
                    worst["lost"] = 0.0, f"{place} {shown(before)}"
                continue
            first, second = widths(before, after)
            line = f"{first:.1e} -> {second:.1e}"
            row = f"    {place}: {line}  {shown(before)} -> {shown(after)}"
            rows.append((second / max(first, LEAST), row))
            if disjoint(before, after):
                worst["disjoint"] = 0.0, f"{place} {shown(before)} {shown(after)}"
            for title, wrong in (
                ("newly wider than 1e-06", first <= VISIBLE < second),
                ("wider by 3 x", second > WIDER * max(first, LEAST)),
            ):
                if wrong and second > worst.get(title, (0.0, ""))[0]:
                    worst[title] = second, f"{line} {place}"
        # Of a curve only the point that lost most.
        if len(rows) > FEW:
            rows = [max(rows)]
        print(*(row for _, row in rows), sep="\n")
        for title, (size, line) in worst.items():
            self._add(title, size, f"{line}: {words}")
        if new.seconds > max(SLOWER * old.seconds, old.seconds + SECONDS):
            self._add(
                "slower",
                new.seconds - old.seconds,
                f"{old.seconds:.2f} -> {new.seconds:.2f} s: {words}",
            )

    def _add(self, title: str, size: float, line: str) -> None:
        self.found[title].append((size, line))

    def summary(self) -> int:
        """Print what is wrong and the times; return the exit status."""
        for title, lines in self.found.items():
            print(f"\n{title}: {len(lines)}")
            for _, line in sorted(lines, reverse=True):
                print(f"    {line}")
        print("\nmedian CPU in s")
        for regime, times in sorted(self._times.items()):
            before, after = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"    {regime:<24} {len(times):3} questions  {before:.3f} -> {after:.3f}")
        both = [sum(column) for column in zip(*chain(*self._times.values()), strict=True)]
        print("    {:<24} {:.1f} -> {:.1f}".format("all, sum", *both))
        return int(any(self.found[title] for title in list(self.found)[:3]))


def main() -> int:
    """Compare two trees."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path, help="folder that has the package privcalc")
    parser.add_argument("new", type=Path, help="another")
    parser.add_argument("--questions", type=Path, required=True, help="folder of questions")
    parser.add_argument("--set", action="append", dest="sets", help="ask this regime only")
    given = parser.parse_args()
    files = sorted(given.questions.glob("*.jsonl"))
    questions = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    trees = [Tree(root, given.questions) for root in (given.old, given.new)]
    comparison = Comparison()
    if given.sets:
        questions = [each for each in questions if each["set"] in given.sets]
    for tree in trees:
        # Loads what all questions need, and writes bytecode.
        tree.ask(questions[0]["args"])
    for question in questions:
        old, new = (tree.ask(question["args"]) for tree in trees)
        comparison.add(question, old, new, " ".join(question["args"]))
    for tree in trees:
        tree.close()
    return comparison.summary()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        answer(sys.argv[2])
    else:
        sys.exit(main())
