"""What whoever keeps an installation running looks at, and what they may clean up."""
