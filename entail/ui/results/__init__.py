"""Results page: a figure and a table for each experiment."""
