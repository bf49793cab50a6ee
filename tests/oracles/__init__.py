"""Independent values to test the product against: naive, multi-precision, from the definitions."""
