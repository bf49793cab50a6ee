"""Ask random specifications whether they obey the laws of the subject: no oracle is needed.

`python -m tests.campaign SEED FIRST LAST [STATE]` asks those with these numbers, and keeps what it
has found in a file, campaign-SEED-FIRST-LAST.json if no other is named: started again, it goes on
where it was stopped. At the end each law has a line: how often it was tried, how near it was to a
contradiction, and what took the longest. `python -m tests.campaign SEED NUMBER` shows one
specification with all that every law finds. Exit status 1 if there is a contradiction.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.campaign.cases import Case, ContradictionError, NoAnswerError
from tests.campaign.laws import LAWS, in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.campaign.laws import Law

# Laws that are tried of each specification, and specifications after which the state is kept.
MOST, OFTEN = 2, 25
# What the least margins are of; as narrow ones are printed with a number of their specification.
NONE: dict[str, Any] = {"held": 0, "open": 0, "margin": [math.inf, -1], "slowest": [0.0, -1]}


class Campaign:
    """What was found so far, as plain data that is kept in a file."""

    def __init__(self, seed: int, first: int, last: int, state: Path | None = None) -> None:
        """Take up what the file has, if there is one."""
        self.seed, self.last, self._state = seed, last, state
        self.found: dict[str, Any] = {
            "seed": seed, "first": first, "next": first, "answered": 0, "refused": 0,
            "questions": 0, "seconds": 0.0, "late": [], "laws": {}, "contradictions": [],
        }  # fmt: skip
        if state is not None and state.exists():
            self.found = json.loads(state.read_text(encoding="utf-8"))
            if self.found["seed"] != seed:
                raise SystemExit(f"{state} is of another seed")

    def run(self) -> None:
        """Ask about all that is left; files of specifications are written to a folder of theirs."""
        with folder():
            while self.found["next"] < self.last:
                self.one(self.found["next"])
                self.found["next"] += 1
                if self.found["next"] % OFTEN == 0:
                    self.keep()
        self.keep()

    def keep(self) -> None:
        """Write the state, so that a stop in between leaves the old one or the new one."""
        if self._state is not None:
            new = self._state.with_suffix(".new")
            new.write_text(json.dumps(self.found), encoding="utf-8")
            new.replace(self._state)

    def one(self, number: int) -> None:
        """Try a few laws on one specification."""
        case, before = Case(self.seed, number), time.process_time()
        try:
            case.begin()
            self.found["answered"] += 1
            tried = 0
            for law in in_turn(case):
                if tried < MOST:
                    tried += self.tried(case, number, law)
        except NoAnswerError:
            self.found["refused"] += 1
        except ContradictionError as error:
            self.contradiction(case, number, "an answer", str(error))
        self.found["late"] += [[number, words] for words in case.late]
        self.found["questions"] += case.questions
        self.found["seconds"] += time.process_time() - before

    def tried(self, case: Case, number: int, law: Law) -> bool:
        """Try one law; return whether it says something about the case."""
        row = self.found["laws"].setdefault(law.__name__, json.loads(json.dumps(NONE)))
        before = time.process_time()
        try:
            claims = [*law(case)]
        except NoAnswerError:
            row["open"] += 1
            claims = []
        except ContradictionError as error:
            self.contradiction(case, number, law.__name__, str(error))
            claims = []
        row["slowest"] = max(row["slowest"], [time.process_time() - before, number])
        row["held"] += bool(claims)
        for claim in claims:
            if claim.margin < 0.0:
                self.contradiction(case, number, law.__name__, repr(claim))
            elif claim.tells:
                row["margin"] = min(row["margin"], [claim.margin, number])
        return bool(claims)

    def contradiction(self, case: Case, number: int, law: str, words: str) -> None:
        """Take note of one."""
        asked = f"{case.text} --relation {case.relation or 'default'} {case.place}"
        self.found["contradictions"].append([number, law, asked, words])
        print(f"python -m tests.campaign {self.seed} {number}", law, asked, words, sep="\n  ")

    def table(self) -> str:
        """Return the closing table."""
        found, lines = self.found, []
        title = "law", "held", "open", "least margin", "of", "slowest", "of"
        lines.append("{:26} {:>6} {:>5} {:>13} {:>7} {:>8} {:>7}".format(*title))
        for law in LAWS:
            row = found["laws"].get(law.__name__, NONE)
            (margin, nearest), (seconds, slowest) = row["margin"], row["slowest"]
            near = f"{margin:.1e} {nearest:7}" if nearest >= 0 else f"- {'':7}"
            lines.append(
                f"{law.__name__:26} {row['held']:6} {row['open']:5} {near:>21}"
                f" {seconds:7.2f}s {slowest:7}"
            )
        lines.append(
            f"seed {self.seed}: {found['next'] - found['first']} specifications,"
            f" {found['answered']} answered, {found['questions']} questions,"
            f" {found['seconds']:.0f} s, {len(found['late'])} questions took too long,"
            f" {len(found['contradictions'])} contradictions"
        )
        return "\n".join(lines)


@contextmanager
def folder() -> Iterator[None]:
    """Work in a folder that is gone afterwards."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            yield
        finally:
            os.chdir(here)


def shown(seed: int, number: int) -> None:
    """Print one specification, and what every law finds."""
    with folder():
        case = Case(seed, number)
        print(case.text)
        print(f"{case.begin()} {case.place} --relation {case.relation}, work {case.work:g}")
        # The chance of a law comes after that of those before it.
        for law in in_turn(case):
            try:
                said: list[object] = [f"{claim.margin:.1e} {claim}" for claim in law(case)]
            except (NoAnswerError, ContradictionError) as error:
                said = [f"{type(error).__name__}: {error}"]
            print(law.__name__, *said, sep="\n    ")


def main(arguments: list[str]) -> int:
    """Run what the command line asks for."""
    if len(arguments) == 2:
        shown(*map(int, arguments))
        return 0
    seed, first, last = map(int, arguments[:3])
    name = arguments[3] if len(arguments) > 3 else f"campaign-{seed}-{first}-{last}.json"
    campaign = Campaign(seed, first, last, Path(name).absolute())
    campaign.run()
    print(campaign.table())
    return 1 if campaign.found["contradictions"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
