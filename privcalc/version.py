"""The version, in a place of its own: what prints it needs nothing else."""

__version__ = "0.2.0"
