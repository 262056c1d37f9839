"""The executor ``ray`` of pytest-t2i: images are made by actors of Ray, here or on a cluster."""
