"""Many questions on standard input: read one by one, answered in order, by one process or several.

Start with `stream.py`.
"""
