"""The model bias score, corrected for the upward bias that few images cause."""
