"""Write the generated documents, or with --check compare them: for developers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from privcalc.cli.docs import commands
from privcalc.cli.docs.completions import completion
from privcalc.cli.docs.help import help_texts, plain_options
from privcalc.cli.docs.pages import page, readme
from privcalc.cli.program import program

if TYPE_CHECKING:
    from typer._click import Command

ROOT = Path(__file__).parents[3]


def documents(root: Path, parser: Command) -> dict[Path, str]:
    """Return every generated file of a checkout with the text that it should have.

    Args:
        root: the top directory; the prose of the manual pages is in `man/src`.
        parser: the command line, with all commands.
    """
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
            template.read_text(encoding="utf-8"), commands.program(parser)
        )
    for name, text in help_texts(parser):
        files[root / "privcalc" / "cli" / "help" / f"{name}.txt"] = text
    files[root / "privcalc" / "cli" / "help" / "option-table.txt"] = "".join(plain_options(parser))
    top = root / "README.md"
    files[top] = readme(top.read_text(encoding="utf-8"))
    return files


def main(arguments: list[str]) -> int:
    """Write all files; with --check write nothing and exit 1 if any would change."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m privcalc.cli.docs [--check]\n")
        return 2
    stale = [
        (path, text)
        for path, text in documents(ROOT, program()).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        name = path.relative_to(ROOT)
        if arguments:
            sys.stderr.write(f"{name} is stale: run python -m privcalc.cli.docs\n")
        else:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {name}\n")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
