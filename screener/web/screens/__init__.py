"""Saved screens: what entered and left them, as pages and as feeds."""
