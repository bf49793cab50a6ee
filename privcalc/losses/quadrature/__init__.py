"""Laws of mixtures with densities, by certified quadrature of M on a vertical line.

Start with `law.py`: what a law brings, parts of outcomes and atoms (`part.py`). `panels.py` has the
proved error of the rule, `nodes.py` places nodes, `contour.py` sums over them, `variation.py` says
how fast that falls.
"""
