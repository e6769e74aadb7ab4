"""Tokens: what the tools and their answers cost the model that reads them."""
