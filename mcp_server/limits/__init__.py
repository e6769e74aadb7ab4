"""Limits: how many calls each caller has, and where they are counted."""
