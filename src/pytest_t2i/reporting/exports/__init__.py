"""A run in the forms of others: tables, cards, code scanning, experiment tracking."""
