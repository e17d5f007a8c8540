"""WorldTree releases: fact tables, questions, explanations."""
