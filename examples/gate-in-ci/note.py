"""Writes the summary as a note on the merge request, and updates the note of an earlier job.

It needs FAIRNESS_TOKEN, a masked CI variable with a project access token (scope ``api``, role
Reporter). Without the token, a merge request or a summary it does nothing.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path

MARK = "<!-- pytest-t2i -->"
LONGEST = 60_000
"""Largest number of characters of a note; GitLab accepts a million."""
PAGE = 100


def main(report: str = "reports/t2i") -> None:
    """Write FOLDER/summary.md as a note on this job's merge request."""
    summary = Path(report, "summary.md")
    token, number = (os.environ.get(name) for name in ("FAIRNESS_TOKEN", "CI_MERGE_REQUEST_IID"))
    if not (token and number and summary.is_file()):
        return
    text = f"{MARK}\n{summary.read_text(encoding='utf-8')[:LONGEST]}"
    api, project = os.environ["CI_API_V4_URL"], os.environ["CI_PROJECT_ID"]
    notes = f"{api}/projects/{project}/merge_requests/{number}/notes"
    ours = own_note(notes, token)
    if ours is None:
        ask("POST", notes, token, {"body": text})
    else:
        ask("PUT", f"{notes}/{ours}", token, {"body": text})


def own_note(notes: str, token: str) -> int | None:
    """Return the number of the note that an earlier job wrote."""
    page = 1
    while found := ask("GET", f"{notes}?per_page={PAGE}&page={page}", token):
        for note in found:
            if note["body"].startswith(MARK):
                return int(note["id"])
        page += 1
    return None


def ask(method: str, url: str, token: str, fields: dict[str, str] | None = None) -> list[dict]:
    """Send a request to GitLab, and return its answer."""
    headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"}
    data = None if fields is None else json.dumps(fields).encode()
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - GitLab's
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
