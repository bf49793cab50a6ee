"""Tests of `privcalc/losses/sparse_vector`."""
