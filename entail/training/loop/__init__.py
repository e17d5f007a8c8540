"""Training loop: steps, schedule, checkpoints."""
