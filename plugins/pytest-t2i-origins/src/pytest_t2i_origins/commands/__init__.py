"""The commands ``t2i research stop``, ``candidates`` and ``sentences``."""
