"""The state of a run: from the selection of tests to their results."""
