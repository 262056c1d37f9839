"""More than two groups: parity differences, distances from expected shares."""
