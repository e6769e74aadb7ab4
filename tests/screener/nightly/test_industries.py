"""Industries: the shipped tables, and the labels for the words of a reference table."""

from __future__ import annotations

import csv
import os
from importlib import resources
from pathlib import Path

import pytest

from screener.nightly.reference.reference import fund_label, industry_label, words
from store.wire.labels import INDUSTRIES

SHARED = Path(os.environ.get("SCREENER_SHARED", Path(__file__).parents[4] / "shared"))
INTERFACE = SHARED / "interface.md"


def table(name: str) -> list[dict[str, str]]:
    text = (resources.files("screener.nightly") / "shipped" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.parametrize("name", ["industries.csv", "funds.csv"])
def test_a_shipped_table_holds_nothing_but_labels_of_the_interface(name: str) -> None:
    assert {row["label"] for row in table(name)} - {""} <= set(INDUSTRIES)


def test_no_industry_is_mapped_twice() -> None:
    keys = [(words(row["sector"]), words(row["industry"])) for row in table("industries.csv")]
    assert len(keys) == len(set(keys))


def test_every_label_of_companies_is_reached_by_some_industry() -> None:
    reached = {row["label"] for row in table("industries.csv")}
    funds_only = {"Broad Market & Index", "Bonds & Fixed Income", "Commodities"}
    assert set(INDUSTRIES) - funds_only <= reached


@pytest.mark.parametrize("label", INDUSTRIES)
def test_a_label_stands_for_itself(label: str) -> None:
    assert industry_label(label.upper()) == label


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("Computer Software: Prepackaged Software", "Software"),
        ("computer software prepackaged software", "Software"),
        ("Software—Application", "Software"),
        (" Medicinal Chemicals and Botanical Products ", "Biotech & Pharma"),
        ("Accident &Health Insurance", "Insurance"),
        ("REIT - Office", "Real Estate"),
        ("Life Sciences Tools & Services", "Biotech & Pharma"),
        ("Hotels, Resorts & Cruise Lines", "Travel & Leisure"),
        ("Oil & Gas E&P", "Oil & Gas"),
        ("Blank Checks", None),
        ("Something nobody says", None),
        ("", None),
        (None, None),
    ],
)
def test_an_industry_is_found_whatever_its_case_and_punctuation(
    said: str | None, label: str | None
) -> None:
    assert industry_label(said) == label


def test_the_sector_tells_two_meanings_of_one_industry_apart() -> None:
    assert industry_label("Industrial Specialties") == "Industrials & Construction"
    assert industry_label("Industrial Specialties", "Health Care") == (
        "Healthcare Equipment & Services"
    )
    assert industry_label(None, "Utilities") == "Utilities & Renewables"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("S&P 500 SPDR", "Broad Market & Index"),
        ("SPDR Dow Jones Industrial Average ETF", "Broad Market & Index"),
        ("20+ Year Treas Bond Ishares ETF", "Bonds & Fixed Income"),
        ("Gold SPDR", "Commodities"),
        ("VanEck Gold Miners ETF", "Metals & Mining"),
        ("S&P 500 Energy Sector SPDR", "Oil & Gas"),
        ("S&P 500 Financials Sector SPDR", None),
        ("Euro Trust Currencyshares Invesco", None),
        ("Goldman Sachs Access", None),
        (None, None),
    ],
)
def test_a_fund_is_labelled_where_its_name_is_clear(name: str | None, label: str | None) -> None:
    assert fund_label(name) == label


@pytest.mark.skipif(not INTERFACE.exists(), reason="the interface text is not here")
def test_the_labels_are_those_of_the_interface_in_its_order() -> None:
    row = next(
        line for line in INTERFACE.read_text().splitlines() if line.startswith("| `industry`")
    )
    said = row.rstrip(" |").rsplit("|", 1)[-1].strip(" .").split(", ")
    assert tuple(said) == INDUSTRIES
