"""The tilted FFT engine: privacy loss distributions on a lattice, bounded from both sides."""
