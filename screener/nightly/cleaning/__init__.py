"""Cleaning: which bars are used, and what speaks against serving a symbol."""
