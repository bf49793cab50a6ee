"""Ask random questions, and hold the certificates of the answers against the checker.

`python -m tests.checker.many SEED COUNT` draws questions until so many certificates are accepted,
and gives up after twice as many. Each of these is then forged, with a digest of its own, and has to
be refused. What is printed has a line for each kind of question. Exit status 1 if a certificate is
refused, a forged one is not, or too few are accepted.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from privcalc.cli.app import main as privcalc
from tests.checker.check import Verdict, check, digest

if TYPE_CHECKING:
    from collections.abc import Callable


def log(draw: random.Random, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(low * (high / low) ** draw.random())


def sampled(draw: random.Random) -> str:
    """DP-SGD: 3 to 60 epochs."""
    sigma, q = log(draw, 0.6, 8.0), log(draw, 1e-4, 0.5)
    return f"gaussian:sigma={sigma:.3g}@poisson:q={q:.3g}@{round(log(draw, 3.0, 60.0) / q)}"


def few_epochs(draw: random.Random) -> str:
    """DP-SGD where a record is seen a few times, if at all."""
    sigma, q = log(draw, 0.4, 2.0), log(draw, 1e-5, 0.05)
    return f"gaussian:sigma={sigma:.3g}@poisson:q={q:.3g}@{max(1, round(log(draw, 0.01, 3) / q))}"


def noise(draw: random.Random) -> str:
    """Released sums and counts."""
    count = round(log(draw, 1.0, 1000.0))
    size = count**0.5 * log(draw, 0.4, 5.0)
    return draw.choice((f"gaussian:sigma={size:.3g}@{count}", f"laplace:scale={size:.3g}@{count}"))


def finite(draw: random.Random) -> str:
    """Answers of finitely many losses, or guarantees."""
    count, size = round(log(draw, 1.0, 300.0)), log(draw, 0.01, 1.0)
    return draw.choice((
        f"rr:epsilon={size:.3g}@{count}",
        f"rr:p={draw.uniform(0.51, 0.8):.3g},categories={draw.randint(2, 9)}@{count}",
        f"rr:epsilon={size:.3g}@poisson:q={log(draw, 1e-3, 0.5):.3g}@{count * 10}",
        f"discrete-laplace:scale={log(draw, 1, 20):.3g},sensitivity={draw.randint(1, 3)}@{count}",
        f"discrete-gaussian:sigma={log(draw, 0.5, 30):.3g}@{count}",
        f"pure:epsilon={size:.3g}@{count}",
        f"approx:epsilon={size:.3g},delta={log(draw, 1e-12, 1e-8):.3g}@{count}",
    ))  # fmt: skip


def parts(draw: random.Random) -> str:
    """Sums of all that."""
    kinds = (sampled, few_epochs, noise, finite)
    return "+".join(draw.choice(kinds)(draw) for _ in range(draw.randint(2, 4)))


KINDS: dict[str, Callable[[random.Random], str]] = {
    "DP-SGD": sampled,
    "few epochs": few_epochs,
    "noise": noise,
    "finite": finite,
    "sums": parts,
}


def asked(draw: random.Random, kind: str) -> list[str]:
    """Draw a question of a kind."""
    if draw.random() < 0.2:
        given = ["--epsilon", f"{log(draw, 0.2, 12.0):.3g}"]
    else:
        given = ["--delta", f"{log(draw, 1e-12, 1e-4):.3g}"]
    return ["compose", KINDS[kind](draw), *given]


def forged(text: str, old: str, new: str) -> str:
    """Change a certificate, and give it the digest of what it says now."""
    if old not in text:
        raise ValueError(f"{old!r} is not in the certificate")
    changed = text.replace(old, new)
    return re.sub(r"sha256:[0-9a-f]*", digest(changed), changed)


def forgeries(text: str, draw: random.Random) -> list[str]:
    """Return brackets that end just below the truth, or begin above it, and a digit changed."""
    [(quantity, ends)] = json.loads(text)["result"].items()
    found = []
    # A lower end of 0 is not proved, and is not a truth to be missed by much.
    if isinstance(ends.get("lower"), float) and ends["lower"] > 0:
        below, above = ends["lower"] * (1 - 1e-6), ends["upper"] * (1 + 1e-6)
        for low, high in ((0.999 * below, below), (above, 1.001 * above)):
            if quantity == "delta" and high > 1:
                continue
            moved = forged(text, f'"lower": {ends["lower"]!r}', f'"lower": {low!r}')
            found.append(forged(moved, f'"upper": {ends["upper"]!r}', f'"upper": {high!r}'))
    place = draw.choice([k for k, each in enumerate(text) if each.isdigit()])
    digit = str((int(text[place]) + draw.randint(1, 9)) % 10)
    return [*found, text[:place] + digit + text[place + 1 :]]


class Tally:
    """What was found of the questions of one kind."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.words: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.forged = self.taken = 0
        self.slowest = 0.0

    def take(self, text: str, draw: random.Random) -> Verdict:
        """Check a certificate, and what is forged of it if it is accepted."""
        before = time.process_time()
        verdict = check(text)
        self.slowest = max(self.slowest, time.process_time() - before)
        self.words[verdict.word] += 1
        if verdict.word == "not checked":
            self.reasons[re.sub(r"\(.*|[0-9.e+-]{5,}.*", "...", verdict.why)] += 1
        if verdict.word == "accepted":
            for false in forgeries(text, draw):
                self.forged += 1
                self.taken += check(false).word != "refused"
        return verdict


def main(seed: int, count: int) -> int:
    """Ask until so many are accepted; return 1 if any verdict is wrong."""
    draw, tallies = random.Random(seed), {kind: Tally() for kind in KINDS}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "certificate.json")
        for _ in range(2 * count):
            if sum(tally.words["accepted"] for tally in tallies.values()) >= count:
                break
            kind = draw.choice(list(KINDS))
            question = asked(draw, kind)
            if privcalc([*question, "--quiet", "--certificate", str(path)]) != 0:
                continue
            taken = tallies[kind].taken
            verdict = tallies[kind].take(path.read_text(encoding="utf-8"), draw)
            if verdict.word == "refused" or tallies[kind].taken > taken:
                wrong += 1
                print(f"{verdict.word}: {' '.join(question)}: {verdict.why}", flush=True)
            elif verdict.word == "not checked":
                print(f"not checked: {' '.join(question)}: {verdict.why}", flush=True)
    print(f"{'':12}accepted  not checked  refused  forged  of them taken  slowest")
    for kind, tally in tallies.items():
        words = [tally.words[each] for each in ("accepted", "not checked", "refused")]
        numbers = "{:8}  {:11}  {:7}".format(*words)
        print(f"{kind:12}{numbers}  {tally.forged:6}  {tally.taken:13}  {tally.slowest:5.2f} s")
        for reason, times in tally.reasons.most_common(4):
            print(f"{'':12}{times} x {reason}")
    known = sum(tally.words["accepted"] for tally in tallies.values())
    return int(wrong > 0 or known < count)


if __name__ == "__main__":
    sys.exit(main(*(int(each) for each in sys.argv[1:])))
