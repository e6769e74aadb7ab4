"""A night as tables: their columns, their files, and frames of them in Python."""
