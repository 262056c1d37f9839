"""Whether objects depend on the variant, and whether ranks agree."""
