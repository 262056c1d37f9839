"""Helpers of the commands: arguments, terminal output, new suites, samples, plans."""
