"""Sealed nights: the book and its writer, the manifest, activation, the active night."""
