"""Installation as a whole: bundled sample, demo, health, backup and restore."""
