"""The examples run against a live service, show data by the rules, and fail in one line.

Over 400 lines, because every script is run against the same services.
"""

from __future__ import annotations

import datetime as dt
import io
import os
import re
import runpy
import shlex
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from screener.nightly.sample import SAMPLE_SESSION
from tests.conftest import NIGHT_SESSION
from tests.examples.scripts import DISCLAIMER, EXAMPLES, NOTEBOOK
from tests.screener.command import Finished
from tests.service import Service, copy_night, new_key, serving

PYTHON_SCRIPTS = ("agent_report.py", "mcp_demo_to_chart.py", "morning_scan.py")
SCRIPTS = ("curl_tour.sh", *PYTHON_SCRIPTS)
SHARED = (
    "screener_calls.py",
    "screener_client.py",
    "screener_errors.py",
    "screener_types.py",
    "script.py",
    "setup_words.py",
)
"""What the scripts import; run with them, and by `test_shared` and `test_client`."""

AGENT = "mcp_agent.py"
"""Run by `test_agent`."""


PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
"""Where the tour finds the Python of the tests."""

WIN_RATE = re.compile(r"[\d.]+% of \d+ trades?\b|[\d.]+% reached the target")
SAMPLE_AND_LOSS = re.compile(
    r"% of \d+ trades?, (average loss -[\d.]+%|no loss)"
    r"|: \d+ resolved trades? in .*(average loss -[\d.]+%|no loss)"
)


@pytest.fixture(scope="module")
def product(product_night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service over the sample as a reader of the README has it."""
    folder = tmp_path_factory.mktemp("product")
    copy_night(product_night, folder)
    with serving(folder) as live:
        yield live


def run(script: str, *arguments: str, url: str, key: str = "", folder: Path) -> Finished:
    """Run a script: Python here, where what it imports is loaded, and the shell as a process."""
    if script.endswith(".sh"):
        return process(script, *arguments, url=url, key=key, folder=folder)
    stdout, stderr, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(stdout), redirect_stderr(stderr):
        patch.chdir(folder)
        patch.syspath_prepend(EXAMPLES)
        patch.setattr(sys, "argv", [script, *arguments])
        patch.setenv("SCREENER_URL", url)
        patch.setenv("SCREENER_KEY", key)
        try:
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        except SystemExit as ended:
            assert isinstance(ended.code, int)
            code = ended.code
    return Finished(code, stdout.getvalue(), stderr.getvalue())


def process(script: str, *arguments: str, url: str, key: str = "", folder: Path) -> Finished:
    """Run a script as its reader does."""
    if script.endswith(".sh") and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    command = "sh" if script.endswith(".sh") else sys.executable
    done = subprocess.run(
        [command, str(EXAMPLES / script), *arguments],
        cwd=folder,
        env={**os.environ, "PATH": PATH, "SCREENER_URL": url, "SCREENER_KEY": key},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def succeed(command: str, *, of: Service, folder: Path, key: str | None = None) -> str:
    """The output of a run that must succeed and print nothing on stderr."""
    key = of.key if key is None else key
    result = run(*shlex.split(command), url=of.url, key=key, folder=folder)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def check_failure(result: Finished, code: int, words: str) -> None:
    assert result.returncode == code
    assert len(result.stderr.strip().splitlines()) == 1
    assert words in result.stderr


def check_content_rules(text: str, session: dt.date = NIGHT_SESSION) -> None:
    """Win rates with samples and losses, the session's date, and the disclaimer."""
    told = [line for line in text.splitlines() if WIN_RATE.search(line)]
    assert told
    assert [line for line in told if not SAMPLE_AND_LOSS.search(line)] == []
    assert f"As of session {session} " in text
    assert DISCLAIMER in text


def check_pictures(folder: Path, names: Sequence[str]) -> None:
    """The pictures of a folder are these, each a PNG of the size that charts have."""
    assert sorted(path.name for path in folder.glob("*.png")) == sorted(names)
    for name in names:
        head = (folder / name).read_bytes()[:24]
        assert head[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", head[16:24]) == (1200, 675)


def check_lines_by_endpoints(text: str, setup: dict[str, Any]) -> None:
    """Both lines are given by the dates and prices of their ends."""
    for points in setup["lines"].values():
        ends = (points["start"], points["end"])
        first, last = (f"${end['price']:,.2f} on {end['date']}" for end in ends)
        assert f"from {first} to {last}" in text


def excerpt_of(command: str) -> list[str]:
    """The lines that the README shows of a command's output."""
    section = (EXAMPLES / "README.md").read_text().split(f"`{command}`")[1]
    return section.split("```text\n")[1].split("```")[0].splitlines()


def setups_of(service: Service, symbol: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.get(f"/tickers/{symbol}/patterns").json()["setups"]
    return found


def summaries_of(setups: Sequence[dict[str, Any]], *scopes: str) -> list[str]:
    """The summaries of what is shown: of a triangle, that of its direction."""
    shown = [
        (record, (record["by_direction"] or {}).get(setup["direction"]))
        for setup in setups
        for scope in scopes
        if (record := setup["track_record"][scope]) is not None
    ]
    return [(side or record)["summary"] for record, side in shown]


def test_every_file_of_the_examples_is_run_and_told_of() -> None:
    files = {path.name for path in EXAMPLES.iterdir() if path.is_file()}
    assert files == {*SCRIPTS, *SHARED, NOTEBOOK, AGENT, "README.md"}
    readme = (EXAMPLES / "README.md").read_text()
    assert [name for name in files - {"README.md"} if f"`{name}`" not in readme] == []


def test_the_curl_tour_shows_every_answer_and_saves_a_chart(
    service: Service, tmp_path: Path
) -> None:
    text = succeed("curl_tour.sh drawn.png", of=service, folder=tmp_path)

    check_pictures(tmp_path, ["drawn.png"])
    assert text.count("\n== ") == 10
    assert text.count('"win_rate_pct"') == text.count('"win_rate_trades"') + text.count(
        '"avg_loss_pct"'
    )
    for fact in (
        *(f'"as_of_session": "{NIGHT_SESSION}"', DISCLAIMER, '"error": "bad_request"'),
        *("HTTP 400", '"symbol": "GOOG"'),
    ):
        assert fact in text
    setups = setups_of(service, "AAPL")
    assert f"setup_id={setups[0]['setup_id']}'" in text, "the chart is that of the first"
    for summary in summaries_of(setups, "family", "ticker"):
        assert summary in text
    assert service.key not in text


@pytest.mark.parametrize(
    "command",
    [
        "sh examples/curl_tour.sh",
        "python examples/mcp_demo_to_chart.py",
        "python examples/morning_scan.py",
        "python examples/morning_scan.py --status all",
        "python examples/agent_report.py AAPL FB",
    ],
)
def test_the_readme_shows_what_its_commands_print_of_the_sample(
    command: str, product: Service, tmp_path: Path
) -> None:
    script, *arguments = command.split("examples/")[1].split()
    key = new_key(product.settings, f"{script}.{len(arguments)}@example.com")
    done = process(script, *arguments, url=product.url, key=key, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = tmp_path / "report.md"
    shown = {
        *done.stdout.splitlines(),
        *(report.read_text().splitlines() if report.exists() else ()),
    }

    assert [line for line in excerpt_of(command) if line not in shown] == []


def test_the_curl_tour_shows_what_needs_no_key_and_then_asks_for_one(
    service: Service, tmp_path: Path
) -> None:
    text = succeed("curl_tour.sh", of=service, key="", folder=tmp_path)

    assert text.count("\n== ") == 3
    assert text.endswith("Set SCREENER_KEY to go on: the rest needs a key.\n")
    check_pictures(tmp_path, [])


NIGHTS = {
    "setups of demo symbols": (("AAPL", "FB"), ("demo-AAPL.png",)),
    "setups of others alone": (("NVDA", "FB"), ()),
    "no demo symbol": (("NVDA",), ()),
}
"""Demo symbols over the sample, of which only AAPL has a setup, and the charts of the MCP demo."""


@pytest.mark.parametrize("night", NIGHTS)
def test_every_example_ends_well_for_a_new_account_whatever_the_night_holds(
    night: str, product_night: Path, tmp_path: Path
) -> None:
    copy_night(product_night, tmp_path / "data")
    symbols, pictures = NIGHTS[night]
    with serving(tmp_path / "data", demo_symbols=symbols) as live:
        key = new_key(live.settings, "new@example.com", tracked=())
        text = {
            script: succeed(script, of=live, key=key, folder=_new(tmp_path / script))
            for script in SCRIPTS
        }
        assert "AAPL" in live.tracked(key)

    check_pictures(tmp_path / "curl_tour.sh", ["chart.png"])
    drawn = {path.name for path in (tmp_path / "mcp_demo_to_chart.py").glob("demo-*.png")}
    assert drawn == set(pictures)
    assert ("None of them has a setup tonight." in text["curl_tour.sh"]) == (not pictures)


def test_every_example_says_in_a_sentence_that_there_is_no_setup(tmp_path: Path) -> None:
    with serving(_new(tmp_path / "data")) as live:
        text = {
            script: succeed(script, of=live, folder=_new(tmp_path / script)) for script in SCRIPTS
        }

    assert "No symbol has a setup tonight" in text["curl_tour.sh"]
    assert "The night covers no demo symbol" in text["mcp_demo_to_chart.py"]
    assert "There is no book for this session yet." in text["morning_scan.py"]
    assert "No symbol of the market has a setup tonight" in text["agent_report.py"]


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_the_mcp_demo_draws_a_chart_without_a_key(product: Service, tmp_path: Path) -> None:
    text = succeed("mcp_demo_to_chart.py", of=product, key="", folder=tmp_path)

    check_content_rules(text, SAMPLE_SESSION)
    check_pictures(tmp_path, ["demo-GOOG.png"])
    setups = setups_of(product, "GOOG")
    assert [setup["status"] for setup in setups] == ["forming", "in_progress"]
    for setup in setups:
        check_lines_by_endpoints(text, setup)
    assert text.startswith("7 tools:\n")
    assert "Set SCREENER_KEY" in text
    for summary in summaries_of(setups, "family", "ticker"):
        assert summary in text


def test_the_mcp_demo_goes_on_to_a_tracked_ticker_with_a_key(
    service: Service, tmp_path: Path
) -> None:
    text = succeed(
        "mcp_demo_to_chart.py --symbol goog --folder charts",
        of=service,
        folder=tmp_path,
    )

    (setup,) = setups_of(service, "GOOG")
    check_content_rules(text)
    check_pictures(tmp_path / "charts", ["demo-GOOG.png", f"GOOG-{setup['setup_id']}.png"])
    assert text.count(summaries_of([setup], "family")[0]) == 2


def test_the_morning_scan_reads_every_page_into_one_table(service: Service, tmp_path: Path) -> None:
    text = succeed("morning_scan.py --status all --page-size 2", of=service, folder=tmp_path)

    setups = service.get("/scan?status=all").json()["setups"]
    check_content_rules(text)
    table = text.splitlines()[2:9]
    assert [line.split()[:2] for line in table[1:]] == [
        [str(setup["rank"]), setup["symbol"]] for setup in setups
    ]
    for name in ("trigger", "stop", "target", "distance", "win rate"):
        assert name in table[0]
    assert all(SAMPLE_AND_LOSS.search(line) for line in table[1:])
    for summary in summaries_of(setups, "family"):
        assert text.count(summary) == 1


def test_the_morning_scan_turns_conditions_into_filters(service: Service, tmp_path: Path) -> None:
    text = succeed(
        "morning_scan.py --status all --direction bullish --where 'price > 100' "
        "--where 'price_above_sma:50 is true' --where 'industry is Hardware & Electronics'",
        of=service,
        folder=tmp_path,
    )

    assert text.startswith("1 of 1 setups, status all\n")
    assert "AAPL" in text


def test_the_morning_scan_says_when_nothing_matches(service: Service, tmp_path: Path) -> None:
    text = succeed("morning_scan.py --max-distance 0", of=service, folder=tmp_path)

    assert text.startswith("No setup matches.\n")
    assert f"As of session {NIGHT_SESSION} " in text
    assert DISCLAIMER in text


@pytest.mark.parametrize("script", PYTHON_SCRIPTS)
def test_each_script_prints_its_help(service: Service, script: str, tmp_path: Path) -> None:
    assert script in succeed(f"{script} --help", of=service, folder=tmp_path)


def test_the_agent_adds_what_is_missing_says_so_and_reports(
    service: Service, tmp_path: Path
) -> None:
    key = new_key(service.settings, "reporter@example.com")
    text = succeed(
        "agent_report.py goog FB --out out/report.md",
        of=service,
        key=key,
        folder=tmp_path,
    )
    report = (tmp_path / "out" / "report.md").read_text()

    assert service.tracked(key) == ["AAPL", "GOOG", "IBM", "MSFT", "FB"]
    for told in (text, report):
        assert "Added FB to the tracked list" in told
        assert '{"remove": ["FB"]}' in told
    (setup,) = setups_of(service, "GOOG")
    check_content_rules(report)
    check_lines_by_endpoints(report, setup)
    check_pictures(tmp_path / "out", [f"GOOG-{setup['setup_id']}.png"])
    assert f"](GOOG-{setup['setup_id']}.png)" in report
    assert "Nothing forms on it now." in report
    for summary in summaries_of([setup], "family", "ticker"):
        assert f"\n> {summary}\n" in report


def test_the_agent_reports_on_the_best_of_the_scan_and_changes_nothing_tracked(
    service: Service, tmp_path: Path
) -> None:
    text = succeed("agent_report.py --best 2", of=service, folder=tmp_path)
    report = (tmp_path / "report.md").read_text()

    assert text.startswith("Changed nothing: all of AAPL, MSFT were tracked already.\n")
    check_content_rules(report)
    assert [line for line in report.splitlines() if line.startswith("## ")] == [
        "## What this agent changed",
        "## AAPL",
        "## MSFT",
    ]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_bad_key_ends_with_one_line(service: Service, script: str, tmp_path: Path) -> None:
    result = run(script, url=service.url, key="ps_live_unknown", folder=tmp_path)

    check_failure(result, 1, "invalid_api_key")


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_service_that_is_not_there_ends_with_one_line(script: str, tmp_path: Path) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        result = run(script, url=url, key="ps_live_unknown", folder=tmp_path)

    check_failure(result, 2, "127.0.0.1")


REFUSED = (
    (("agent_report.py", "ZZZZ"), "unknown_symbol"),
    (("agent_report.py", "A-B"), "invalid_symbol"),
    (("mcp_demo_to_chart.py", "--symbol", "FB"), "not_a_demo_symbol"),
    (("morning_scan.py", "--where", "price is Apple"), "bad_request"),
)


@pytest.mark.parametrize(("command", "code"), REFUSED)
def test_a_refusal_ends_with_its_code_and_changes_nothing(
    service: Service, command: tuple[str, ...], code: str, tmp_path: Path
) -> None:
    before = service.get("/tickers").json()

    result = run(*command, url=service.url, key=service.key, folder=tmp_path)

    check_failure(result, 1, code)
    assert result.stderr.startswith(f"{code}: ")
    assert service.get("/tickers").json() == before
    assert list(tmp_path.iterdir()) == []


def test_a_script_gives_up_on_a_wait_longer_than_its_patience(
    data_dir: Path, tmp_path: Path
) -> None:
    with serving(data_dir, key_per_minute=1) as service:
        service.get("/me").raise_for_status()
        result = run(
            *("morning_scan.py", "--patience", "0"),
            url=service.url,
            key=service.key,
            folder=tmp_path,
        )

    check_failure(result, 1, "rate_limited")
