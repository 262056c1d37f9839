"""Models, detectors, encoders and so on; a heavy library is imported when a name needs it."""
