"""Associations: of objects with the variant, of two embedding spaces, and of ranks."""
