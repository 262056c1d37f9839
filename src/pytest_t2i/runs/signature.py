"""The SSH signature beside a manifest: whether it matches, and whose it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from shutil import which
from typing import NamedTuple

from pytest_t2i.files import read_bytes

ENDING = ".sig"
"""What ``ssh-keygen -Y sign`` appends to the name of the signed file."""
NAMESPACE = "pytest-t2i"
"""The purpose that the signature names (``ssh-keygen -n``): one made for another one is refused."""
PATIENCE = 10.0
"""Longest time for a command in seconds."""
KEY = re.compile(r"with (\S+ key SHA256:\S+)")


class Signature(NamedTuple):
    """What the signature beside a file shows."""

    is_wrong: bool
    """Whether it does not match the file, or is of nobody whom the signers' file names."""
    sentence: str


def signature_beside(file: Path, signers: Path | None = None) -> Signature | None:
    """Check the signature of a file with ``ssh-keygen``; None where neither is asked for.

    Without a signers' file the sentence names the key alone: whose key it is cannot be told.
    """
    path = file.with_name(file.name + ENDING)
    if not path.exists() and not path.is_symlink():
        missing = f"no signature: {path.name} does not exist, so --signers shows nothing"
        return None if signers is None else Signature(is_wrong=True, sentence=missing)
    read_bytes(path, kind="signature of ssh-keygen")
    if signers is not None:
        read_bytes(signers, kind="file of signers' public keys")
    if which("ssh-keygen") is None:
        return Signature(
            signers is not None, f"not checked: {path.name}: ssh-keygen is not installed"
        )
    answer = _ssh_keygen("check-novalidate", "-n", NAMESPACE, "-s", str(path), content=file)
    key = KEY.search(answer or "")
    if key is None:
        return Signature(
            is_wrong=True,
            sentence=f"wrong signature: {path.name} was not made for this {file.name} with "
            f"ssh-keygen -Y sign -n {NAMESPACE}",
        )
    if signers is None:
        return Signature(
            is_wrong=False,
            sentence=f"signed with the {key[1]}; --signers FILE tells whose key it is",
        )
    names = _ssh_keygen("find-principals", "-s", str(path), "-f", str(signers)) or ""
    for name in re.split(r"[\s,]+", names):
        words = ("-f", str(signers), "-I", name, "-n", NAMESPACE, "-s", str(path))
        if _ssh_keygen("verify", *words, content=file) is not None:
            return Signature(is_wrong=False, sentence=f"signed by {name} with the {key[1]}")
    return Signature(
        is_wrong=True,
        sentence=f"wrong signature: {signers.name} does not trust the {key[1]} of {path.name}",
    )


def _ssh_keygen(verb: str, *words: str, content: Path | None = None) -> str | None:
    """Return the output of a command of ``ssh-keygen``; None if it fails or takes too long."""
    try:
        answer = subprocess.run(  # noqa: S603 - no shell, and every path follows its option
            [which("ssh-keygen") or "ssh-keygen", "-Y", verb, *words],
            capture_output=True,
            input=b"" if content is None else content.read_bytes(),
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.decode(errors="replace").strip() if answer.returncode == 0 else None
