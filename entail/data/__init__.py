"""Official file formats and frozen records."""
