"""What audits share: scores of groups, contrasts, samples, evidence, rows, and their context."""
