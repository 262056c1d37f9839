"""Plan images, have them made, store them and run detectors on them."""
