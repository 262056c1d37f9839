"""``t2i report verify``: check that a report and its inputs are unchanged, and who signed it."""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shutil import which
from typing import NamedTuple

from pytest_t2i.cli.support.arguments import path, say
from pytest_t2i.errors import ConfigurationError, printable
from pytest_t2i.files import read_bytes
from pytest_t2i.runs.explanation.record import NAME as EXPLANATION
from pytest_t2i.runs.manifest import NAME, Finding, read_report_manifest, unlisted_files, verify

REPORT = Path("reports/t2i")
OF_EARLIER_RUNS = {
    EXPLANATION: "what `t2i explain` said of",
    "junit.xml": "what pytest wrote of this or",
    "comment.md": "the comment that a CI job made of this or",
}
"""Name of a file beside a report that this tool may have left there -> what it is, before "run"."""
CHANGED = 1
"""The exit status where a file differs from its manifest, or the signature is wrong."""
ENDING = ".sig"
"""What ``ssh-keygen -Y sign`` appends to the name of the signed file."""
NAMESPACE = "pytest-t2i"
"""The purpose that the signature names (``ssh-keygen -n``): one made for another one is refused."""
PATIENCE = 10.0
"""Longest time for a command in seconds."""
KEY = re.compile(r"with (\S+ key SHA256:\S+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the report, and where parts outside of its project lie now."""
    parser.add_argument(
        "folder", nargs="?", type=path, default=REPORT, metavar="DIR",
        help=f"folder of a report with its {NAME} (default: {REPORT})",
    )  # fmt: skip
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="PART=DIR",
        help="present folder of a part outside of the project, as in 'labels elsewhere=DIR'; may "
        "be repeated",
    )
    parser.add_argument(
        "--signers",
        type=path,
        metavar="FILE",
        help=f"public keys of those whose signature {NAME}{ENDING} may bear, as ssh-keygen's "
        "ALLOWED SIGNERS; without it only the key is named",
    )


def run(folder: Path, at: Sequence[str], signers: Path | None = None) -> int:
    """Print what changed or is missing, and who signed; return 0, or 1 where something is wrong."""
    manifest = read_report_manifest(folder)
    findings = list(verify(manifest, folder, dict(map(_part_and_folder, at))))
    for finding in findings:
        if finding.state != "same":
            say(_line(finding))
    signature = signature_beside(folder / NAME, signers)
    if signature is not None:
        say(printable(signature.sentence))
    extra = [name for name in unlisted_files(manifest, folder) if name != NAME + ENDING]
    for name in [name for name in extra if name in OF_EARLIER_RUNS]:
        say(f"{name} is {OF_EARLIER_RUNS[name]} an earlier run, and no part of this report")
        extra.remove(name)
    if extra:
        say(
            f"not named by the manifest, so not checked: {', '.join(extra)} (from another run, a "
            "signature of another tool, added by hand, or named by its path in the project, which "
            "is not here)"
        )
    bad = sum(finding.state not in {"same", "not here"} for finding in findings)
    counts = Counter(finding.part for finding in findings if finding.state != "not here")
    what = ", ".join(f"{count} {part}" for part, count in counts.items())
    if bad:
        say(f"NOT VERIFIED: {bad} of {len(findings)} entries of {folder / NAME} ({what})")
        return CHANGED
    if signature is not None and signature.is_wrong:
        say(f"NOT VERIFIED: the signature; {NAME} matches all of its {len(findings)} entries")
        return CHANGED
    say(f"verified: all {counts.total()} entries of {folder / NAME} ({what})")
    return 0


def _line(finding: Finding) -> str:
    if finding.state == "not here":
        return (
            f"not checked: the folder of the pictures ({finding.name}) is not here; the verdict "
            f"rests on the store's copies, which are checked (--at '{finding.part}=DIR' names it)"
        )
    if finding.state == "not found":
        return (
            f"not checked: {finding.part}: {finding.name} lies outside of the project (give --at "
            f"'{finding.part}=DIR')"
        )
    return f"{finding.state}: {finding.part}: {finding.name}"


def _part_and_folder(text: str) -> tuple[str, Path]:
    name, sign, folder = text.partition("=")
    if not (name and sign and folder):
        raise ConfigurationError(f"--at: expected PART=DIR, got {text!r}")
    return name, path(folder)


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
