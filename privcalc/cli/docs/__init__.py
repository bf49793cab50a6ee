"""Help, manual pages, completions and a list in the README, from the options and the registry."""
