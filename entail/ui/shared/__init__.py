"""Parts of several pages: tasks, resources, forms, text."""
