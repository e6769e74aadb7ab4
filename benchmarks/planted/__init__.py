"""Planted patterns and decoys: how well a detector draws, measured on series of known geometry.

All series come from geometry and seeds, not from the detector. `series` turns a path of closes into
daily bars, `patterns` plants one pattern with known lines, breakout bar and outcome, `decoys` makes
shapes that only look like a pattern, `walks` makes random walks, `measures` compares an event log
with the truth, and `python -m benchmarks.planted` prints the table.
"""
