"""Entailment tuning (Dai, Liu, Xiong): questions as claims that a passage entails, masked and predicted."""
