"""Tests of what other libraries write down."""
