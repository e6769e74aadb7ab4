"""Checks of a machine and its settings."""
