"""Results: what a night keeps of a symbol's patterns and trades."""
