"""Answers and refusals of hundreds of lines, recorded: what a change must not change unseen."""
