"""The tests."""

import os

# Before numpy is loaded: pools of threads gain nothing here, and take time from other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
