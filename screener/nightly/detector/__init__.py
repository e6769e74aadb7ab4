"""Detector: finds chart patterns in the bars of one symbol."""
