"""The data folder: files that are private and replaced whole, locks, progress, checkpoints."""
