"""Start the command line: `python -m privcalc`, and the installed `privcalc`."""

import sys


def main() -> int:
    """Run the command line on sys.argv; return the exit status."""
    # Answered before anything is imported: scripts ask for the version often.
    if sys.argv[1:] == ["--version"]:
        from privcalc import __version__

        sys.stdout.write(f"privcalc {__version__}\n")
        return 0
    from privcalc.cli.app import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
