"""Planted patterns and decoys: how well a detector draws, measured on series of known geometry.

All series come from geometry and seeds, not from the detector. There are two generators. In the
first, zigzag, `series` turns a path of closes into daily bars, `patterns` plants one pattern with
known lines, breakout bar and outcome, `decoys` makes shapes that only look like a pattern, and
`walks` makes random walks. The second, `carved`, was written without knowledge of the first.
`corpus` holds the fixed series of both, `measures` compares an event log with the truth, and
`python -m benchmarks.planted` prints the table.
"""
