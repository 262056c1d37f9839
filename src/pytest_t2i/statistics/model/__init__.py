"""The model bias score: without the upward bias of few images."""
