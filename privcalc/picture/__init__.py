"""Answers as pictures: what is drawn, and two ways to draw it."""
