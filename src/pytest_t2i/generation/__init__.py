"""Which images, and having them made, kept and looked at: from requests to detections."""
