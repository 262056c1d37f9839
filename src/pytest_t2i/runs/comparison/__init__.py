"""Several models, runs or baselines side by side: what enters, what is computed, its record."""
