"""Key and secret of Face++, from the environment alone."""

from __future__ import annotations

import os

from pytest_t2i.adapters.support.secrets import Secrets
from pytest_t2i.errors import ConfigurationError

KEY, SECRET = "FACEPP_API_KEY", "FACEPP_API_SECRET"
"""Environment variables."""


class Credentials(Secrets):
    """Key and secret; hidden wherever the object is shown."""

    __slots__ = ()

    def __init__(self, key: str, secret: str) -> None:
        super().__init__(key, secret)

    @classmethod
    def from_environment(cls) -> Credentials:
        """Read FACEPP_API_KEY and FACEPP_API_SECRET.

        Raises:
            ConfigurationError: one of them is absent, empty, or no line of ASCII.
        """
        # No variable of this frame holds a value: a traceback may show them all.
        missing = [name for name in (KEY, SECRET) if not _value(name)]
        if missing:
            raise ConfigurationError(
                f"the detector face++ needs the environment variable {' and '.join(missing)}. "
                "Register at https://console.faceplusplus.com, make an API key, and set both "
                f"{KEY} and {SECRET}; they are read from nowhere else and written nowhere."
            )
        for name in (KEY, SECRET):
            if not (_value(name).isascii() and _value(name).isprintable()):
                raise ConfigurationError(f"{name}: expected printable ASCII, as Face++ gives it")
        return cls(_value(KEY), _value(SECRET))

    def form(self) -> dict[str, str]:
        """The two fields of a request."""
        return dict(zip(("api_key", "api_secret"), self._words, strict=True))


def _value(name: str) -> str:
    return os.environ.get(name, "").strip()
