"""Statistics: what the trades of all symbols say together."""
