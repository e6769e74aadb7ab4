"""Filters: the language of the scan, and the search for symbols."""
