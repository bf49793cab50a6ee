"""The five commands: options in one file, what is asked and reported in its twin."""
