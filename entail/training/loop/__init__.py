"""Training loop: steps, schedule, checkpoints, several processes."""
