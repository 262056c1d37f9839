"""What the console script does, one module per command; each prints and returns an exit code."""
