"""Language models: one adapter per heavy dependency, imported only when asked for."""
