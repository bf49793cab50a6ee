"""What mechanisms read from files: two-column tables, opened once and refused by kind and size."""
