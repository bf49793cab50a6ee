"""Answers as text: one module for each output format. Nothing here prints."""
