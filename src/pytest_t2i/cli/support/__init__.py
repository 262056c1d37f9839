"""Helpers of the commands: arguments, texts for the terminal, new suites, samples, plans."""
