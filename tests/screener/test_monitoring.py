"""What is shipped for Prometheus and Grafana: it is valid, and names only what is exposed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.screener.scraping import Measured
from tests.screener.scraping import service as service

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus"
DASHBOARD = ROOT / "deploy" / "grafana" / "screener.json"
NOT_OURS = {"up"}
"""Metrics that Prometheus adds by itself for each target."""

NAME = re.compile(r"\b(up|(?:screener|process|python|node)_\w+)\b(?=[{\[\s)]|$)")


def names(text: str) -> set[str]:
    """The metrics that PromQL names, histograms without their parts."""
    found = set(NAME.findall(text))
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in found} - NOT_OURS


def exposed(service: Measured) -> set[str]:
    return set(re.findall(r"^# TYPE (\w+) ", service.text(), re.MULTILINE))


def targets() -> list[str]:
    """The queries of the dashboard."""
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def expressions() -> list[str]:
    """The expressions of the alert rules, each with all its lines."""
    rules = re.findall(r"expr: (.*?)\n +(?:for|labels):", (RULES / "alerts.yml").read_text(), re.S)
    assert len(rules) == (RULES / "alerts.yml").read_text().count("- alert:")
    return rules


def test_alerts_and_dashboard_name_only_metrics_that_a_service_exposes(service: Measured) -> None:
    for expression in (*expressions(), *targets()):
        assert names(expression) or NAME.findall(expression)
        assert names(expression) - exposed(service) == set()


def test_each_metric_of_the_service_is_on_the_dashboard(service: Measured) -> None:
    shown = set().union(*map(names, targets()))
    ours = {name for name in exposed(service) if name.startswith("screener_")}

    assert ours - shown == {"screener_night_is_sample"}


def test_the_panels_have_titles_and_places_of_their_own() -> None:
    panels = [p for p in json.loads(DASHBOARD.read_text())["panels"] if p["type"] != "row"]
    places = set()
    for panel in panels:
        at = panel["gridPos"]
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                assert (x, y) not in places
                places.add((x, y))
    titles = [panel["title"] for panel in panels]
    assert all(titles)
    assert len(set(titles)) == len(titles)


def test_each_alert_has_a_severity_and_says_what_to_do_and_is_documented() -> None:
    text = (RULES / "alerts.yml").read_text()
    page = (ROOT / "docs" / "monitoring.md").read_text()
    for alert in text.split("- alert: ")[1:]:
        assert f"| `{alert.split()[0]}` |" in page
        assert re.search(r"severity: (page|ticket)\n", alert)
        assert "what_to_do:" in alert


def test_each_alert_is_tested() -> None:
    tested = (RULES / "alerts_test.yml").read_text()
    for alert in re.findall(r"- alert: (\w+)", (RULES / "alerts.yml").read_text()):
        assert re.search(rf"alertname: {alert}\n +exp_alerts:", tested)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("check config prometheus.yml", "SUCCESS"),
        ("check rules --lint-fatal alerts.yml", "SUCCESS"),
        ("test rules alerts_test.yml", "SUCCESS"),
        ("check metrics", ""),
    ],
)
def test_the_checker_of_prometheus_finds_no_fault(
    service: Measured, arguments: str, said: str
) -> None:
    """With the last, in what is exposed; before, alerts fire when they should and not earlier."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    command = [promtool, *arguments.split()]
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run(command, cwd=RULES, input=service.text(), check=False, **options)

    assert done.returncode == 0, done.stdout + done.stderr
    assert said in done.stdout if said else done.stdout == ""
