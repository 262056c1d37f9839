"""The commands ``t2i research hunt``, ``stop``, ``candidates`` and ``sentences``."""
