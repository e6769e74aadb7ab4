"""Providers: services that daily bars are fetched from, and the folder that stores the bars."""
