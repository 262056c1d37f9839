"""Many prompts tested at once: one error level, and posterior probabilities without a verdict."""
