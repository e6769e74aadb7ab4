"""Planted patterns and decoys: how well a detector draws, measured on series of known geometry.

Everything here comes from geometry and seeds, nothing from the detector. `series` dresses a path
of closes as daily bars, `patterns` plants one pattern of known lines, breakout bar and outcome,
`decoys` draws what only looks like one, `walks` has no shape at all, `measures` compares an event
log with the truth, and `python -m benchmarks.planted` prints the table.
"""
