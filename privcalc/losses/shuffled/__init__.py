"""Reports of many people without their names: what the counts of two symbols say of one of them.

`window.py` has binomial probabilities, `coins.py` sums of coins, `pair.py` pairs whose profile is
made of them, `law.py` what is known of shuffled reports from above and below.
"""
