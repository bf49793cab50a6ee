"""A program that checks certificates of privcalc and shares no line with what wrote them.

It reads a certificate (`privcalc compose ... --certificate FILE`), takes from it the question, the
answer and which line was summed, and proves the two ends of the answer again in ball arithmetic
(python-flint): every number below is an interval that contains the truth, whatever was rounded.
Nothing that the certificate says of the values is believed.

`python -m tests.checker FILE...` prints `accepted`, `refused` with the reason, or `not checked`
with the theorem that the answer rests on, or how far the proof came; the exit status is 0 only
where all are accepted.
"""
