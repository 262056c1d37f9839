"""`t2i`: main.py, and one file per command with its own arguments."""
