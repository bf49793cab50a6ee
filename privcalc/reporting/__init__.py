"""What each command asks of a specification, and its answers as reports: no input or output.

One file for each command. The command line and the library are two ways to reach them.
"""

DEFAULT_ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
"""Renyi orders that are shown where none are asked for."""
