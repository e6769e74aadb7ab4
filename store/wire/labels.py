"""The labels of the scan's choice columns, which the nightly stores and filters match on."""

from __future__ import annotations

ASSET_TYPES = ("crypto", "etf", "stock")
COUNTRIES = ("US", "GLOBAL")
EXCHANGES = ("XNYS", "XNAS", "ARCX", "BATS", "XASE")
INDUSTRIES = (
    "Semiconductors",
    "Software",
    "Hardware & Electronics",
    "Internet & Media",
    "Telecom",
    "Biotech & Pharma",
    "Healthcare Equipment & Services",
    "Banks",
    "Insurance",
    "Capital Markets & Asset Management",
    "Fintech & Payments",
    "Real Estate",
    "Oil & Gas",
    "Utilities & Renewables",
    "Metals & Mining",
    "Chemicals & Materials",
    "Industrials & Construction",
    "Aerospace & Defense",
    "Transport & Logistics",
    "Retail & E-Commerce",
    "Consumer Goods & Services",
    "Food & Beverage",
    "Restaurants",
    "Travel & Leisure",
    "Autos & Mobility",
    "Crypto",
    "Broad Market & Index",
    "Bonds & Fixed Income",
    "Commodities",
)
