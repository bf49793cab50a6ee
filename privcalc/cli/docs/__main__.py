"""Write the generated documents, or with --check compare them: for developers."""

from __future__ import annotations

import sys
from pathlib import Path

from privcalc.cli.docs import documents
from privcalc.cli.program import program

ROOT = Path(__file__).parents[3]


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
