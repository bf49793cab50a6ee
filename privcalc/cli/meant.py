"""What was meant by a line that cannot be read: commands, options and values by other names.

Read only after an error. Each hint says what to write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from privcalc.cli.commands import COMMANDS
from privcalc.spec.entry import snake_case
from privcalc.spec.hints import for_word

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["for_command", "for_option", "for_value"]

# Options of other tools, in snake_case, that are not the parts of a specification.
ELSEWHERE = {
    "alpha": "convert --fpr takes false positive rates, convert --orders Renyi orders",
    "poisson": "sampling stands after the mechanism: @poisson:q=RATE",
    "output": "the answer goes to standard output; --format says in which form",
    "target_epsilon": "write --epsilon",
    "target_delta": "write --delta",
    "max_eps": "did you mean --max-epsilon?",
    "budget": "write --max-epsilon E with --delta D",
    "d": "write --delta",
    "e": "write --epsilon",
    "trials": "write --runs fixed:n=TRIALS, or --runs geometric:mean=TRIALS for a random number",
    "repetitions": "write --runs fixed:n=RUNS",
    "rate": "sampling stands after the mechanism: @poisson:q=RATE",
    "p": "sampling stands after the mechanism: @poisson:q=RATE",
    "n": "the number of records is a part of SPEC: @poisson:q=BATCH/N",
    "samples": "the number of records is a part of SPEC: @poisson:q=BATCH/RECORDS",
    "dataset_size": "the number of records is a part of SPEC: @poisson:q=BATCH/RECORDS",
    "max_grad_norm": "the clipping norm is a part of SPEC: gaussian:sigma=NOISE,sensitivity=NORM",
    "clip": "the clipping norm is a part of SPEC: gaussian:sigma=NOISE,sensitivity=NORM",
    "sensitivity": "sensitivity is a part of SPEC: gaussian:sigma=NOISE,sensitivity=S",
    "mechanism": "the mechanism is SPEC: privcalc compose gaussian:sigma=1.1 --delta 1e-5",
    "spec": "SPEC stands without an option: privcalc compose gaussian:sigma=1.1 --delta 1e-5",
    "accountant": "every engine is asked that proves something; --engine takes one of them",
    "adjacency": "write --relation",
    "neighbors": "write --relation",
    "neighboring_relation": "write --relation",
    "opacus": "a history is a SPEC: opacus:file=FILE",
    "history": "a history is a SPEC: opacus:file=FILE",
    "input": "SPEC - reads standard input; a history is opacus:file=FILE",
    "config": "write --file",
    "csv": "write --format csv",
    "markdown": "write --format markdown",
    "silent": "write --quiet",
    "debug": "write --verbose",
}
# Words in the place of a command, and the commands.
_CHECK = "write privcalc compose SPEC --delta D --max-epsilon E, or compose --file privacy.toml"
ELSE_CALLED = {
    "help": "write privcalc --help",
    "version": "write privcalc --version",
    "epsilon": "write privcalc compose SPEC --delta D",
    "eps": "write privcalc compose SPEC --delta D",
    "dp": "write privcalc compose SPEC --delta D",
    "delta": "write privcalc compose SPEC --epsilon E",
    "compute": "write privcalc compose SPEC --delta D",
    "account": "write privcalc compose SPEC --delta D",
    "accountant": "write privcalc compose SPEC --delta D",
    "composition": "write privcalc compose SPEC --delta D",
    "opacus": "write privcalc compose opacus:file=FILE --delta D",
    "check": _CHECK,
    "budget": _CHECK,
    "verify": _CHECK,
    "validate": _CHECK,
    "assert": _CHECK,
    "gate": _CHECK,
    "noise": "write privcalc calibrate gaussian:sigma=_ --epsilon E --delta D",
    "sigma": "write privcalc calibrate gaussian:sigma=_ --epsilon E --delta D",
    "calibration": "write privcalc calibrate",
    "tune": "write privcalc select SPEC --runs geometric:mean=30 --delta D",
    "select_runs": "write privcalc select",
    "sample": "write privcalc subsample",
    "amplify": "write privcalc subsample",
    "profile": "write privcalc convert SPEC --to profile",
    "tradeoff": "write privcalc convert SPEC --to tradeoff",
    "risk": "write privcalc convert SPEC --to risk",
    "plot": "write privcalc convert SPEC --to tradeoff --plot",
    "spec": "write privcalc --help-spec",
    "completion": "write privcalc --show-completion SHELL",
    "completions": "write privcalc --show-completion SHELL",
    "schema": "write privcalc --schema result",
}
# Values of options by the names of others.
VALUES = {
    "unbounded": "write add-or-remove-one",
    "add_remove": "write add-or-remove-one",
    "add_or_remove": "write add-or-remove-one",
    "bounded": "write replace-one",
    "substitution": "write replace-one",
    "substitute": "write replace-one",
    "swap": "write replace-one",
    "edit": "write replace-one",
    "zero_out": "write replace-special",
    "zeroed": "write replace-special",
    "pld": "write fft, or leave --engine out",
    "prv": "write fft, or leave --engine out",
    "renyi": "write rdp",
    "moments": "write rdp",
    "epsilon": "write dp, with --delta D",
    "eps": "write dp, with --delta D",
    "delta": "write dp, with --epsilon E",
    "approx": "write dp, with --delta D",
    "f_dp": "write tradeoff",
    "fdp": "write tradeoff",
    "roc": "write tradeoff",
    "mu": "write gdp",
    "rho": "write zcdp",
    "cdp": "write zcdp",
    "attack": "write risk",
    "mia": "write risk",
    "event": "write dp-event",
    "yaml": "write json, which readers of YAML read",
    "jsonl": "write json, one object on a line",
    "ndjson": "write json, one object on a line",
    "md": "write markdown",
    "text": "write table",
    "plain": "write table, or -t for one number",
    "tsv": "write csv",
    "html": "write markdown",
    "latex": "write markdown, or csv",
    "tex": "write markdown, or csv",
    "bare": "-t prints one number",
}


def for_option(option: str, known: Sequence[str], command: str = "") -> str:
    """Return what to write for an unknown option: other tools have some for the parts of a run.

    Args:
        option: as it was written.
        known: the options that there are.
        command: the one that has them, or "" for the program.
    """
    from difflib import get_close_matches

    word = option.lstrip("-").replace("-", "_")
    if word == "file" and command:
        # Budget files are for compose, which knows the option.
        free = ", with _ in it" if command == "calibrate" else ""
        return f"write the specifications of the file as one sum{free}"
    if elsewhere := for_word(word) or ELSEWHERE.get(word, ""):
        return elsewhere
    names = {name.lstrip("-"): name for name in known if name.startswith("--")}
    begun = [name for name in names if name.startswith(word) and len(word) > 1]
    near = begun or get_close_matches(word, names, cutoff=0.7)
    return f"did you mean {names[near[0]]}?" if near else ""


def for_command(words: Sequence[str]) -> str:
    """Return what to write for words of which the first is no command, or ""."""
    first = words[0] if words else ""
    if hint := ELSE_CALLED.get(snake_case(first), ""):
        other = next((word for word in words[1:] if word in COMMANDS), "")
        return f"write privcalc {other} --help" if first == "help" and other else hint
    from privcalc.errors import PrivcalcError
    from privcalc.spec.hints import for_file_alone

    if first.endswith(".toml"):
        return f"write privcalc compose --file {first}"
    if file := for_file_alone(first):
        return file.replace("write opacus", "write privcalc compose opacus")
    if not re.search(r"[:@+({\[_]|DpEvent", first) and not _is_name(first):
        return ""
    from privcalc.reporting.questions import question

    try:
        question(first, holes=True)
    except PrivcalcError:
        # It is wrong in two ways; the command is said first.
        return "a command stands first: privcalc compose SPEC --delta 1e-5"
    name = "calibrate" if re.search(r"[=@]_", first) else "compose"
    quoted = first if re.fullmatch(r"[\w:=@+.,/%-]{1,60}", first) else "SPEC"
    rest = (
        " ".join(words[1:5]) if all(re.fullmatch(r"[\w.,%/-]{1,20}", w) for w in words[1:5]) else ""
    )
    return f"write privcalc {name} {quoted} {rest or '--delta 1e-5'}"


def _is_name(word: str) -> bool:
    """Say whether a word is the name of a mechanism."""
    from privcalc.spec.registry import mechanisms

    return any(snake_case(word) in each.spellings for each in mechanisms())


def for_value(message: str) -> str:
    """Return what to write for a value that is none of those that an option takes, or "".

    Args:
        message: what the parser says of it.
    """
    word = re.search(r"[:'] '?([A-Za-z][\w-]*)' is (?:not one|no )", message)
    if word is None:
        return ""
    lower = word[1].lower()
    known = lower != word[1] and f"'{lower}'" in message
    return f"write {lower}" if known else VALUES.get(snake_case(word[1]), "")
