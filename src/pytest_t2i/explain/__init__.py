"""The culprit of a worse score: hybrids of two models, and the search for the change behind it."""
