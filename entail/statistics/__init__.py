"""Ranking and classification measures, paired tests, separation: arrays in, numbers out."""
