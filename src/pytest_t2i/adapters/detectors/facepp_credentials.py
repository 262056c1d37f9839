"""Key and secret of Face++, which are read from the environment only."""

from __future__ import annotations

import os

from pytest_t2i.adapters.support.secrets import Secrets
from pytest_t2i.errors import ConfigurationError

KEY, SECRET = "FACEPP_API_KEY", "FACEPP_API_SECRET"
"""Environment variables of key and secret."""


class Credentials(Secrets):
    """Key and secret, which the object's repr does not show."""

    __slots__ = ()

    def __init__(self, key: str, secret: str) -> None:
        super().__init__(key, secret)

    @classmethod
    def from_environment(cls) -> Credentials:
        """Read FACEPP_API_KEY and FACEPP_API_SECRET.

        Raises:
            ConfigurationError: one of them is absent, empty, or not printable ASCII.
        """
        # No variable of this frame holds a value, as a traceback may show all variables.
        missing = [name for name in (KEY, SECRET) if not _value(name)]
        if missing:
            raise ConfigurationError(
                f"the detector face++ needs the environment variable {' and '.join(missing)}. "
                "Register at https://console.faceplusplus.com, make an API key, and set both "
                f"{KEY} and {SECRET}. They are read from the environment only, and not stored."
            )
        for name in (KEY, SECRET):
            if not (_value(name).isascii() and _value(name).isprintable()):
                raise ConfigurationError(
                    f"{name}: expected printable ASCII characters, got others: copy the value from "
                    "the Face++ console again"
                )
        return cls(_value(KEY), _value(SECRET))

    def form(self) -> dict[str, str]:
        """Key and secret as fields of a request's form."""
        return dict(zip(("api_key", "api_secret"), self._words, strict=True))


def _value(name: str) -> str:
    return os.environ.get(name, "").strip()
