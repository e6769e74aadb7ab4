"""Notifications of a nightly."""
