"""Two or more groups: parity differences, distances from references, changes and rankings."""
