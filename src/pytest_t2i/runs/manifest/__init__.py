"""What a report rests on, by SHA-256: written beside it, and verified wherever it went."""
