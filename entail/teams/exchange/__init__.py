"""Projects as files, and projects of such files."""
