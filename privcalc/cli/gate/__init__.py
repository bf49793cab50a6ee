"""The budget of a project: a file that lists what touches the data, and is checked as a whole."""
