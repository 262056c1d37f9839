"""The command line ``t2i``: main.py, and one module per command with its own arguments."""
