"""Nights in a bucket or a shared folder."""
