"""The comparison of several models: its inputs, its computation and its record."""
