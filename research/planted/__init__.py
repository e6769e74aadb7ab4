"""Planted patterns and decoys: how well a detector draws, measured on series of known geometry.

All series come from geometry and seeds, not from the detector: the geometry is drawn first, and a
market path is forced to follow. `prices` makes market paths and random walks, `carving` forces a
path through a shape, `patterns` plants one pattern with known lines and breakout bar, `decoys`
makes shapes that only look like a pattern, `measures` compares an event log with the truth.
`python -m research.planted` prints the table.
"""
