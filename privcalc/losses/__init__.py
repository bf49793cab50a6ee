"""Privacy-loss laws: one direction of one dominating pair."""
