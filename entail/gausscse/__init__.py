"""GaussCSE: sentences as Gaussians, and the direction of entailment."""
