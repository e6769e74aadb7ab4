"""Telemetry: what a process tells its operator of its own work. It knows no other package."""
