"""See `tests/transcripts/__init__.py`."""

from tests.transcripts import main

main()
