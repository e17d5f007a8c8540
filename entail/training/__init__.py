"""What every method that trains an encoder shares: the loop, checkpoints, towers; no method of its own."""
