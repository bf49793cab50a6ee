"""What is no line is a list: losses with masses on a lattice, alone or as a factor on a line."""
