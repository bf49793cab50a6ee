"""Wrong lines, one at a time, and whether the tests of their own folder fail."""
