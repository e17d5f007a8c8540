"""Trained encoders: LoRA adapters or every weight, their folders, averages of several."""
