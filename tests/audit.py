"""Known faults of what we depend on: `python -m tests.audit`, a part of `make test`.

pip-audit asks the package index about the exact versions of `requirements.lock`. Where its
advisory service cannot be reached, or does not know our packages, that is said and no failure.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 120
# Advisories that do not concern us: {id: why}. An entry without a reason is refused by its test.
EXCEPTIONS: dict[str, str] = {}


def asked() -> dict[str, Any] | str:
    """pip-audit's report, or why there is none."""
    command = [
        sys.executable, "-m", "pip_audit", "--requirement", str(ROOT / "requirements.lock"),
        "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it did not answer within {SECONDS} s"
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return lines[-1][:300] if lines else f"pip-audit ended with {done.returncode}"
    return report


def verdict(report: dict[str, Any] | str) -> tuple[int, str]:
    """(exit code, what to print)."""
    if isinstance(report, str):
        return (
            0,
            f"pip-audit: the advisory service cannot be reached, nothing was checked: {report}",
        )
    rows = report.get("dependencies", [])
    known = [row for row in rows if "vulns" in row]
    if not known:
        return 0, "pip-audit: the advisory service knows none of our packages; nothing was checked."
    found = [
        f"{row['name']} {row['version']}: {each['id']}, fixed in "
        f"{', '.join(each.get('fix_versions') or []) or 'no version yet'}"
        for row in known
        for each in row["vulns"]
        if not {each["id"], *each.get("aliases", [])} & EXCEPTIONS.keys()
    ]
    if found:
        return 1, "\n".join(["pip-audit found known faults:", *found])
    left = f"; {len(rows) - len(known)} are not known to it" if len(rows) > len(known) else ""
    return 0, f"pip-audit: no known fault in {len(known)} packages{left}."


if __name__ == "__main__":
    code, words = verdict(asked())
    print(words)
    sys.exit(code)
