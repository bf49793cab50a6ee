"""Mechanisms whose output depends on the data by more than added noise."""
