"""Commands that show patterns, setups and charts."""
