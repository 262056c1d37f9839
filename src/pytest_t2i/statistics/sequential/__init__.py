"""Sequential inference: intervals and p-values that hold at every look."""
