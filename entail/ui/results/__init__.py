"""Page "What it can do": headline figures with a chart each."""
