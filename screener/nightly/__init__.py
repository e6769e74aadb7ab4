"""The nightly: reads bars, finds setups, measures their statistics and publishes one night."""
