"""Accounts and what they hold: keys, grants, tokens, sessions, watchlists, usage, audit."""
