"""Providers: where daily bars are fetched from, and the folder in which they are kept."""
