"""GOYA: two spaces of pictures, one of what they show and one of how (thesis chapter 2)."""
