"""One run: its selected tests, its state, its results, and the record that reports render."""
