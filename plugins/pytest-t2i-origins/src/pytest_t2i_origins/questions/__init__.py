"""Questions to language models: candidates of stereotypes, sentences of professions."""
