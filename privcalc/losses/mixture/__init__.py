"""Mixtures of normal laws: groups of records in a sample, and sensitivities that are drawn.

Start with `law.py`.
"""
