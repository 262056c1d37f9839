"""Image and text encoders: one module for each heavy library, imported when a name needs it."""
