"""The folder of the examples, what is imported from it, and what its scripts say."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))  # they are scripts, and no package
client = importlib.import_module("screener_client")
"""Imported here, with what it imports, for all tests of examples."""
errors = importlib.import_module("screener_errors")
setup_words = importlib.import_module("setup_words")
sys.path.remove(str(EXAMPLES))

DISCLAIMER = "Educational chart analysis, not investment advice."

NOTEBOOK = "night.ipynb"
"""Run by `test_notebook`."""
