"""Origins of stereotypes, and what language models propose to test: candidates and sentences."""
