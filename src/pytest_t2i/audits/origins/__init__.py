"""Origins: which prompts lead to the clusters of a concept's images (StOP, OASIS 3.3)."""
