"""A run over several processes that is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from screener import nightly

LONG_RUN = """
import time
import polars  # brings its own handler of Ctrl-C
from screener.nightly.pool import local_pool
if __name__ == "__main__":
    with local_pool(2) as pool:
        results = pool.run(time.sleep, iter([0, 600, 600]))
        print("begun", next(results), flush=True)
        next(results)
"""


def test_ctrl_c_ends_a_run_whose_tasks_take_long(tmp_path: Path) -> None:
    script = tmp_path / "long_run.py"
    script.write_text(LONG_RUN)
    environment = {**os.environ, "PYTHONPATH": str(Path(nightly.__file__).parents[2])}
    run = subprocess.Popen(
        [sys.executable, str(script)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == "begun None\n"
        run.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in run.communicate(timeout=120)[1]
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == -signal.SIGINT
