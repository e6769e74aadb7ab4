"""Calls: who calls and how, and what is said when a call is refused."""
