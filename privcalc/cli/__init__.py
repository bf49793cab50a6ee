"""The command line: reads options, calls one accounting function, renders, exits."""
