"""Model cards and data set cards."""
