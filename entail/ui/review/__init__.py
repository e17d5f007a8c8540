"""Page Review: submitted copies of a hypothesis side by side, and the agreed tree that is made of them."""
