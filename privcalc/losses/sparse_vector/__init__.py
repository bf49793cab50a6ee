"""The sparse vector technique: which of a stream of noisy answers are above a noisy threshold.

Write rho for the noise of the threshold, drawn once, and nu_i for that of query i. The answer to
query i is "above" if q_i + nu_i >= T_i + rho, and the stream ends with the c-th such answer, or
with the last query. Under a neighbour no query changes by more than D. Answers may choose the next
queries and thresholds: given all answers o, these are fixed numbers.

Let S be the places of "above" in o, at most c of them, and let g(r, n) be 1 where the threshold's
noise r and the noise n of the queries in S give the answers in S, times the chance, given r, that
the others are "below". With the same for the neighbour, g'(r + D, n + v) >= g(r, n) for
v_i = D + q_i - q'_i in [0, 2 D]: a higher threshold is harder to reach for queries that changed by
at most D, and those in S are raised as much (Dwork, Roth 2014, Theorem 3.23).
"""
