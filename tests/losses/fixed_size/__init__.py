"""Tests of games of fixed-size steps."""
