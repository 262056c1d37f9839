"""The pytest plugin: hooks, options, the marker and the fixtures. It holds no logic of its own."""
