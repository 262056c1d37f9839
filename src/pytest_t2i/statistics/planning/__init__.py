"""How many images decide, and what a number of images can decide."""
