"""Handlers: what each operation answers from the sealed night and the accounts."""
