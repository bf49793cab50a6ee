"""Shells driven as a person drives them: a line is typed, then the tabulator key."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Each writes what was offered, then `=` and the line as it is after the key was pressed.
BASH = """
PS1= PS2=
source {root}/privcalc/cli/completions/privcalc.bash
_recorded() {{ _privcalc "$@"; printf '%s\\n' "${{COMPREPLY[@]}}" >> {log}; }}
complete -F _recorded privcalc
bind 'set bell-style none' 'set completion-query-items 0' 'set page-completions off'
_written() {{ printf '=%s\\n' "$READLINE_LINE" >> {log}; }}
bind -x '"\\C-g": _written'
"""
ZSH = """
PROMPT= PS2=
unsetopt zle_bracketed_paste 2> /dev/null
fpath=({root}/privcalc/cli/completions $fpath)
autoload -Uz compinit; compinit -u -D
setopt no_beep no_list_beep
compadd() {{
  if [[ ${{@[1,(i)(-|--)]}} != *-(O|A|D)\\ * ]]; then
    local -a hits
    builtin compadd -O hits "$@"
    print -rl -- $hits >> {log}
  fi
  builtin compadd "$@"
}}
written() {{ print -r -- "=$BUFFER" >> {log} }}
zle -N written
bindkey '^G' written
bindkey '^I' complete-word
"""


def typed(shell: str, lines: Sequence[str], folder: Path) -> list[tuple[list[str], str]]:
    """Type lines, each followed by the tabulator key, into one interactive shell.

    Args:
        shell: bash or zsh.
        lines: what is typed.
        folder: an empty one.

    Returns:
        For each line the words that were offered, sorted, and the line after the key.
    """
    log, setup = folder / "log", folder / "setup"
    setup.write_text({"bash": BASH, "zsh": ZSH}[shell].format(root=ROOT, log=log), encoding="utf-8")
    log.touch()
    command = {
        "bash": ["bash", "--noprofile", "--rcfile", str(setup), "-i"],
        "zsh": ["zsh", "-f", "-i"],
    }[shell]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        # The terminal says nothing but what is typed; LC_ALL keeps the order of words.
        os.environ.update(TERM="dumb", LC_ALL="C", HOME=str(folder), INPUTRC="/dev/null")
        os.execvp(command[0], command)  # noqa: S606
    try:
        if shell == "zsh":
            _type(terminal, f"source {setup}\n")
        found = []
        for line in lines:
            # The line before is taken away; what is written to the log comes last.
            _type(terminal, f"\x15{line}\t\x07")
            said = _until_written(terminal, log)
            *offered, after = said.splitlines()
            found.append((sorted(set(filter(None, offered))), after.removeprefix("=")))
            log.write_text("", encoding="utf-8")
        return found
    finally:
        os.close(terminal)
        os.kill(process, 9)
        os.waitpid(process, 0)


def _type(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def _until_written(terminal: int, log: Path) -> str:
    """Return what stands in the log once the key that ends it was handled."""
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        # A terminal that nobody reads stops the shell.
        if select.select([terminal], [], [], 0.01)[0]:
            os.read(terminal, 65536)
        said = log.read_text(encoding="utf-8")
        if any(line.startswith("=") for line in said.splitlines()) and said.endswith("\n"):
            return said
    raise TimeoutError(f"the shell did not answer: {log.read_text(encoding='utf-8')!r}")


def fish(lines: Sequence[str], folder: Path) -> list[list[str]]:
    """Return what fish completes each line to, sorted."""
    script = f"source {ROOT}/privcalc/cli/completions/privcalc.fish\n"
    script += "for line in $argv; complete -C $line; echo =; end"
    done = subprocess.run(
        [shutil.which("fish") or "fish", "--no-config", "-c", script, *lines],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        timeout=60,
    )
    found: list[list[str]] = [[]]
    for word in done.stdout.splitlines():
        if word == "=":
            found.append([])
        else:
            found[-1].append(word.split("\t")[0])
    return [sorted(each) for each in found[:-1]]
