"""Markets: exchanges, and on which days they trade."""
