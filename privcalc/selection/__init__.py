"""Private selection: the best of a random number of runs of a base mechanism."""
