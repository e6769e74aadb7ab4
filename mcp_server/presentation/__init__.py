"""Presentation: what the service says of itself, its rules, and how hosts connect."""
