"""Page "What it can do": a finding and a table for each experiment."""
