"""What is told of an encoder or of a team's trees when they leave the house."""
