"""From Renyi curves to (epsilon, delta) and to tests: one order, and all orders together.

Start with `optimum.py`.
"""
