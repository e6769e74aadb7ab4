"""Accounts and what they hold: keys, grants, tokens, sessions, watchlists, usage, audit."""

BRAND = "pso_"
"""The start of every credential and id that sign-in issues; settings read it without a database."""
