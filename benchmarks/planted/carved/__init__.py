"""Synthetic daily series with a known pattern: geometry first, price forced to follow it.

`patterns` plants exactly one pattern of known lines in a series, `decoys` draws shapes that only
resemble one, and `walks` draws random walks. Each is a pure function of a numpy generator.
"""
