"""The pytest plugin: hooks, options, the marker and the fixtures. It translates and delegates."""
