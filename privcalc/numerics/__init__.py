"""Quadrature, rounding and complex logarithms with error bounds."""
