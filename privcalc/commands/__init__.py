"""The commands, each said once: one file and one function for the command line and for Python."""
