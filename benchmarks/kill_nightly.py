"""Kills a nightly at random moments, and checks which night is active afterwards.

    python -m benchmarks.kill_nightly BARS [TIMES] [SEED]

First it publishes a night two sessions older than the bars. Then, each time, it starts a nightly
over all bars and kills it with SIGKILL at a moment between its start and its usual end. Afterwards
either the old or the new night must be active and undamaged, and the next run must leave the new
night and no draft. Prints each moment and the active night; ends with 1 at the first violation.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nightly.bars import to_date
from nightly.sessions import session_at
from nightly.sources import open_source
from store.ledger.manifest import Manifest
from store.nights.nights import Nights

SCREENER = str(Path(sys.executable).with_name("screener"))
ALLOWED = (0, 5)
"""Allowed exit codes of the run after a kill: published, or already sealed before the kill."""


def begin(bars: str, data: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start a nightly over the bars."""
    return subprocess.Popen(  # noqa: S603 - our own command
        [SCREENER, "nightly", "--bars", bars, *options],
        env={**os.environ, "SCREENER_DATA_DIR": str(data)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def older_session(bars: str) -> dt.date:
    """A session some days before the last of the bars."""
    return session_at(
        to_date(max(o.last_day for o in open_source(Path(bars)).outlines().values()) - 4)
    )


def killed(bars: str, data: Path, after: float) -> Manifest:
    """The active night after a nightly was killed `after` seconds after its start."""
    process = begin(bars, data)
    try:
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return Nights(data).check_active()


def main() -> None:
    """Kill a nightly and check the result, `TIMES` times."""
    bars, *rest = sys.argv[1:]
    times = int(rest[0]) if rest else 10
    seed = int(rest[1]) if rest[1:] else 1
    moments = random.Random(seed)  # noqa: S311 - moments, not secrets
    with tempfile.TemporaryDirectory() as folder:
        old_data, new_data = Path(folder) / "old", Path(folder) / "new"
        assert begin(bars, old_data, "--session", str(older_session(bars))).wait() == 0
        shutil.copytree(old_data / "ledger", new_data / "ledger")  # to be compared with it too
        start = time.perf_counter()
        assert begin(bars, new_data).wait() == 0
        usual = time.perf_counter() - start
        old, new = Nights(old_data).check_active(), Nights(new_data).check_active()
        for number in range(times):
            data = Path(folder) / f"data-{number}"
            shutil.copytree(old_data, data)
            after = moments.uniform(0, usual)
            serves = killed(bars, data, after)
            left = len(list(data.rglob("*.draft")))
            code = begin(bars, data).wait()
            files = (path for path in data.rglob("*") if path.is_file())
            names = [path.name for path in files if path.suffix != ".verified"]
            sound = serves in (old, new) and code in ALLOWED and Nights(data).check_active() == new
            sound = sound and not any("draft" in name for name in names) and len(names) == 7
            which = "the old night" if serves == old else "the new night"
            print(f"killed after {after:.2f} of {usual:.2f} s: {which} serves, {left} drafts left")
            if not sound:
                sys.exit(f"the next run ended with {code} and left {sorted(names)}")
            shutil.rmtree(data)


if __name__ == "__main__":
    main()
