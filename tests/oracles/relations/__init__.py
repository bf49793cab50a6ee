"""Mechanisms on all small data sets, under every relation and sampling, by enumeration."""
