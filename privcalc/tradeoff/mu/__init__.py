"""mu of Gaussian differential privacy: at one epsilon, and the smallest for all.

Start with `equivalent.py`.
"""
