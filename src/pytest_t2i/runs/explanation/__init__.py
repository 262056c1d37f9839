"""What changed between a baseline and a run, and the record of which change mattered."""
