"""Models, indexes and tasks in the memory of a process, shared by pages and API."""
