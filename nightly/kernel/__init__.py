"""The compiled chart-pattern detector: one noun a module, `walk` the only loop over bars.

Everything here works on arrays of one symbol in log price and ATR units; nothing here knows a
calendar, a file or a dollar threshold. `nightly.detector` is the face to call.
"""
