"""The front door: settings, the composition root and the command line."""
