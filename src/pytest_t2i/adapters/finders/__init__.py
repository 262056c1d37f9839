"""Face, person and object detectors: one module for each heavy library."""
