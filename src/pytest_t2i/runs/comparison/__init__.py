"""Several models, runs or baselines side by side: what enters, what is reckoned, its record."""
