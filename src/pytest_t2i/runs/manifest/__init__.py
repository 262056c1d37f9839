"""The manifest of a report: SHA-256 of all files behind it, written beside it to be verified."""
