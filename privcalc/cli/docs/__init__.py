"""Help, manual pages, completions and a list in the README, from the options and the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from typer._click import Command


def completion(shell: str, parser: Command) -> str:
    """Return the completions of a command line for a shell: bash, zsh or fish."""
    from privcalc.cli.docs.bash import bash
    from privcalc.cli.docs.commands import program
    from privcalc.cli.docs.fish import fish
    from privcalc.cli.docs.zsh import zsh

    return {"bash": bash, "zsh": zsh, "fish": fish}[shell](program(parser))


def documents(root: Path, parser: Command) -> dict[Path, str]:
    """Return every generated file of a checkout with the text that it should have.

    Args:
        root: the top directory; the prose of the manual pages is in `man/src`.
        parser: the command line, with all commands.
    """
    from privcalc.cli.docs.commands import program
    from privcalc.cli.docs.help_texts import help_texts, plain_options
    from privcalc.cli.docs.man import page
    from privcalc.cli.docs.readme import readme

    files = {
        root / "completions" / name: completion(shell, parser)
        for shell, name in (
            ("bash", "privcalc.bash"),
            ("zsh", "_privcalc"),
            ("fish", "privcalc.fish"),
        )
    }
    for template in sorted((root / "man" / "src").glob("*.mdoc")):
        files[root / "man" / template.stem] = page(
            template.read_text(encoding="utf-8"), program(parser)
        )
    for name, text in help_texts(parser):
        files[root / "privcalc" / "cli" / "help" / f"{name}.txt"] = text
    files[root / "privcalc" / "cli" / "help" / "option-table.txt"] = "".join(plain_options(parser))
    top = root / "README.md"
    files[top] = readme(top.read_text(encoding="utf-8"))
    return files
