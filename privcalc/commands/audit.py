"""The command `audit`: an attack's record against what a specification proves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from privcalc.bounds import Verdict, round_down, round_up
from privcalc.commands.command import command
from privcalc.errors import DomainError, UsageError
from privcalc.exact import exact
from privcalc.record import record
from privcalc.render.report import Check, End, Report
from privcalc.render.words import written
from privcalc.spec.registry import SHOWN, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from privcalc.accounting.audit import Audited
    from privcalc.commands.command import Values
    from privcalc.relation import Relation
    from privcalc.spec.read import Question

DESIGNS = (
    "audit needs --design runs (many trainings, with and without one record) or --design one-run"
    " (one training with many canaries, each in by its own fair coin)"
)
# Which options each design takes: other numbers are no evidence for it.
USES = {
    "runs": ("counts", "threshold"),
    "one-run": ("canaries", "guesses", "correct", "top", "bottom"),
}
WHY = {
    "counts": "within one run outcomes depend on each other, and limits of rates are invalid: give"
    " --canaries M --guesses R --correct V",
    "threshold": "a threshold makes the number of guesses random: give --top K and --bottom K",
    **dict.fromkeys(
        ("canaries", "guesses", "correct"), "give --counts TP,FN,FP,TN of independent runs"
    ),
    **dict.fromkeys(("top", "bottom"), "give --threshold T, or neither for thresholds at ranks"),
}
HEADINGS = {
    "epsilon": "epsilon of the evidence, at least",
    "claimed_epsilon": "epsilon proved by the specification",
    "p_value": "p-value, at most",
}
# Members of one run so many deviations from half were not in by fair coins.
DEVIATIONS = 5.0


@record
class Evidence:
    """What was seen: for the test, as data, and in words."""

    tests: Any
    data: dict[str, float | str]
    words: str
    notes: tuple[str, ...] = ()


def _prepared(values: Values) -> Values:
    """Make evidence of what was given, and refuse what is none for its design."""
    design = values.pop("design", "").replace("_", "-")
    if not design:
        raise UsageError(DESIGNS)
    for name in (each for uses in USES.values() for each in uses if each in values):
        if name not in USES[design]:
            raise UsageError(f"--{name} has no effect with --design {design}: {WHY[name]}")
    if exact(values.get("delta", 0.0)) >= 1:
        raise DomainError("--delta must be below 1: at 1 nothing is promised")
    scores = values.pop("scores", None)
    given = {name: values.pop(name) for name in USES[design] if name in values}
    numbers = [name for name in ("counts", "canaries", "guesses", "correct") if name in given]
    cuts = [name for name in ("threshold", "top", "bottom") if name in given]
    if (scores is None) is not bool(numbers) or (numbers and cuts):
        one = " --top K --bottom K" if design == "one-run" else ""
        other = "--canaries M --guesses R --correct V" if one else "--counts TP,FN,FP,TN"
        raise UsageError(f"--design {design} takes either {other}, or --scores FILE{one}")
    make = _of_runs if design == "runs" else _of_one_run
    return {**values, "evidence": make(scores, **given)}


def _of_runs(
    file: str | None, counts: tuple[int, ...] = (), threshold: float | None = None
) -> Evidence:
    data: dict[str, float | str] = {"design": "runs"}
    tests = {"": counts}
    if file is not None:
        from privcalc.accounting.audit_runs import rank_tests

        inside, outside = read_scores(file)
        if not inside or not outside:
            raise DomainError(f"{file} needs runs with the record (member 1) and without (0)")
        if threshold is None:
            tests = rank_tests(inside, outside)
            data |= {"members": len(inside), "others": len(outside)}
            words = (
                f"scores of {len(inside)} members and {len(outside)} others, at {len(tests)} ranks"
            )
        else:
            hits, alarms = (sum(x > threshold for x in each) for each in (inside, outside))
            tests = {"": (hits, len(inside) - hits, alarms, len(outside) - alarms)}
            data["threshold"] = threshold
    # Of ranks the first is about the middle of the scores.
    hits, misses, alarms, rejections = counts = next(iter(tests.values()))
    members, others = hits + misses, alarms + rejections
    if not (members and others):
        raise DomainError("--counts needs runs with the record (TP + FN) and without (FP + TN)")
    if "members" not in data:
        names = ("true_positives", "false_negatives", "false_positives", "true_negatives")
        data |= dict(zip(names, counts, strict=True))
        words = f"{hits} of {members} members and {alarms} of {others} others called members"
    notes = (REVERSED,) * (hits * others < alarms * members)
    return Evidence(tests, data, f"{words} (independent runs)", notes)


REVERSED = (
    "members are called members less often than others: if a lower score says member, give the"
    " opposite, unless that was decided after looking"
)
HALVES = (
    "exactly half of the canaries are members: if that was fixed, and not each by its own coin, the"
    " answer is not covered"
)


def _of_one_run(
    file: str | None,
    *,
    canaries: int | None = None,
    guesses: int | None = None,
    correct: int | None = None,
    top: int = 0,
    bottom: int = 0,
) -> Evidence:
    from privcalc.accounting.audit_one_run import OneRun, right_guesses

    notes: tuple[str, ...] = ()
    if file is not None:
        inside, outside = read_scores(file)
        canaries, guesses = len(inside) + len(outside), top + bottom
        if not 0 < guesses <= canaries:
            words = "takes --top K and --bottom K, together from 1 to the number of canaries"
            raise DomainError(f"--scores of one run {words}, {canaries}; got {top} and {bottom}")
        if abs(len(inside) - 0.5 * canaries) > DEVIATIONS * 0.5 * math.sqrt(canaries):
            raise DomainError(
                f"{file} has {len(inside)} members of {canaries} canaries: they were not in by fair"
                " coins, each by its own, and one run without them is no evidence"
            )
        notes = (HALVES,) * (2 * len(inside) == canaries)
        correct = right_guesses(inside, outside, top, bottom)
    if canaries is None or guesses is None or correct is None:
        raise UsageError("--design one-run needs all of --canaries M --guesses R --correct V")
    if not correct <= guesses <= canaries or not guesses:
        words = "need 1 <= R <= M and V <= R"
        raise DomainError(
            f"--canaries M, --guesses R and --correct V {words}, got {canaries}, {guesses} and"
            f" {correct}"
        )
    data: dict[str, float | str] = {"design": "one-run"}
    data |= {"canaries": canaries, "guesses": guesses, "correct": correct}
    words = f"{correct} of {guesses} guesses about {canaries} canaries are right (one run)"
    return Evidence(OneRun(canaries, guesses, correct), data, words, notes)


def read_scores(file: str) -> tuple[list[float], list[float]]:
    """Read the scores of members, and those of others.

    Raises:
        DomainError: the file cannot be read, has another header, or a line that is none of both.
    """
    from privcalc.opened import read_text

    header, *lines = read_text(file).splitlines() or [""]
    if [word.strip().lower() for word in header.split(",")] != ["score", "member"]:
        raise DomainError(f"{file}, line 1: expected the header score,member, got {header[:40]!r}")
    found: tuple[list[float], list[float]] = ([], [])
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        score, _, member = line.partition(",")
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if math.isnan(value) or member.strip() not in ("0", "1"):
            words = "expected a number and, after a comma, 1 for a member or 0"
            raise DomainError(f"{file}, line {number}: {words}, got {line[:40]!r}")
        found[member.strip() == "0"].append(value)
    return found


EXAMPLES = """\
  privcalc audit gaussian:sigma=0.7 --design runs --counts 500,500,50,950
  privcalc audit --design runs --counts 90,9,9,90 --delta 1e-5 --max-epsilon 3
  privcalc audit --design one-run --scores c.csv --top 40 --bottom 40 --delta 0"""


@command(
    "specs design counts canaries guesses correct scores threshold top bottom delta confidence"
    " max_epsilon exit_zero sweep relation",
    examples=EXAMPLES,
    prepare=_prepared,
)
def audit(
    question: Question,
    *,
    evidence: Evidence,
    delta: float | None = None,
    confidence: float = 0.95,
    max_epsilon: float | None = None,
    relation: Relation | None = None,
    verbose: bool = False,
) -> Iterator[Report]:
    """Say whether an attack's record is possible if the code does what SPEC says.

    Without SPEC: the epsilon that the record shows at --delta, from below, at this confidence.
    With SPEC: refuted, with exit status 1, or compatible, which is no proof of it.
    The design decides which test is valid; man 1 privcalc-audit says which is yours.

        >>> import privcalc
        >>> found = privcalc.audit(design="runs", counts=(500, 500, 50, 950), delta=1e-5)
        >>> round(found.epsilon.lower, 2)
        2.01
        >>> privcalc.audit("gaussian:sigma=1", design="runs", counts=(500, 500, 50, 950)).verdict
        <Verdict.REFUTED: 'refuted'>
    """
    from privcalc.accounting.audit import audit as audited
    from privcalc.spec.brief import brief

    text = to_text(question.tree)
    if not text and relation is not None:
        raise UsageError("a relation is that of a specification, and there is none")
    if text and max_epsilon is not None:
        raise UsageError(
            "a specification and a largest epsilon are two claims; ask in turn",
            hint=f"the second alone is approx:epsilon={written(max_epsilon)},delta=DELTA",
        )
    found = audited(
        question.tree if text else None,
        evidence.tests,
        delta=delta,
        confidence=confidence,
        relation=relation,
        verbose=verbose,
    )
    ends = (
        ("epsilon", found.epsilon),
        ("claimed_epsilon", found.claimed),
        ("p_value", found.p_value),
    )
    query = {**({} if delta is None else {"delta": delta}), "confidence": confidence}
    how = {"fisher": "Fisher's product of exact binomial tests"}
    how["fisher-at-ranks"] = f"{how['fisher']} at each rank, the level shared"
    test = str(found.method.test["test"])
    percent = f"{round_down(100 * exact(confidence))} %"
    yield Report(
        spec=question.tree,
        relation=found.relation,
        query=query,
        result={k: End(x, is_upper=k != "epsilon") for k, x in ends if x is not None},
        method=found.method,
        check=_check(
            text if len(text) <= SHOWN else brief(question.tree, text),
            found,
            evidence,
            query,
            max_epsilon,
        ),
        details=found.details,
        headings=HEADINGS,
        evidence=evidence.data,
        facts=(
            ("evidence", evidence.words),
            ("confidence", f"{percent} ({how.get(test, f'one run, bound: {test}')})"),
        ),
        notes=evidence.notes,
    )


def _check(
    text: str,
    found: Audited,
    evidence: Evidence,
    query: Mapping[str, float],
    max_epsilon: float | None,
) -> Check | None:
    """Return the verdict on the specification, or on the largest epsilon that is claimed."""
    name, refuted, claim = "", found.refuted, text
    if max_epsilon is not None and found.epsilon is not None:
        name, refuted = "max_epsilon", found.epsilon > exact(max_epsilon)
        claim = f"epsilon {written(max_epsilon)} at delta {written(query['delta'])}"
    if refuted is None:
        return None
    gross = ", and one run sees gross errors only" if evidence.data["design"] == "one-run" else ""
    words = f"compatible: the evidence does not refute {claim}; it is no proof of it{gross}"
    if refuted:
        often = round_up(100 * (1 - exact(query["confidence"])))
        words = (
            f"refuted: no mechanism that meets {claim} gives such evidence in more than {often} %"
            " of audits"
        )
    verdict = Verdict.REFUTED if refuted else Verdict.COMPATIBLE
    return Check(name, max_epsilon or 0.0, verdict, words)
