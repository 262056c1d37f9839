"""Finding faces: one adapter per heavy dependency, imported only when asked for."""
