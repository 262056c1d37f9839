"""One run: what was asked, its state, its results, and the record that reports are made from."""
