"""What clients see: records, families, labels, and the one view of a setup."""
