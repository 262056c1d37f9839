"""Asking language models for candidates of stereotypes and for sentences of professions."""
