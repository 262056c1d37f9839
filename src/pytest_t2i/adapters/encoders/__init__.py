"""Image and text encoders: one adapter per heavy dependency, imported only when asked for."""
