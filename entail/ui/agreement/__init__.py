"""Page Agreement: how far the annotators of a project agree, and where they differ."""
