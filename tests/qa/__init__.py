"""Drills, fuzz, hosts, agents and processes: what is tried on a whole service."""
