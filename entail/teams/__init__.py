"""Work of several people on the trees of a project: agreement, differences, agreed trees."""
