"""Many prompts tested at once: one error level, and leans where there is no verdict."""
