"""Whatever plugs in; a heavy dependency is imported only when it is asked for by name."""
