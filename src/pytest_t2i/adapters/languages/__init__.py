"""Language models: one module for each heavy library, imported only when a name needs it."""
