"""Searches of a model for bias: the hunt, origins of stereotypes, candidates and sentences."""
