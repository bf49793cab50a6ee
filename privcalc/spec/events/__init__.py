"""What other libraries write down of a training run, as specifications."""
