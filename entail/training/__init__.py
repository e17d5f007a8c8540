"""Training shared by all methods: method records, loop, checkpoints, adapters, distillation, cards."""
