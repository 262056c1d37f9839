"""Language models are asked for candidates of stereotypes and for sentences of professions."""
