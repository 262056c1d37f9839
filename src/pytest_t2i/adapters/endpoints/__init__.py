"""Models and judges behind HTTP: the client, its limits, paid requests, and the services."""
