"""What each published night served: an append-only chain, verified and graded."""
