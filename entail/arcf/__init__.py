"""ARCF: chains of facts that explain an answer, each chosen in the light of the ones before."""
