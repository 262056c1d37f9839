"""Detectors' counts corrected by people's labels."""
