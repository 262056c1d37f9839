"""The executor ``ray`` of pytest-t2i: actors of Ray make images, on this machine or a cluster."""
