"""The compiled chart-pattern detector: one noun per module; only `walk` advances it bar by bar.

Everything here works on the arrays of one symbol, in log prices and ATR units. Nothing here knows a
calendar, a file or a dollar threshold. Callers use `screener.nightly.detector.detector`.
"""
