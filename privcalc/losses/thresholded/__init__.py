"""Releases above a threshold: the larger of a profile and the probability that a new key shows.

A new key, which only one of two neighbours has, is a data set of its own.
"""
