"""The laws of shuffled batches."""
