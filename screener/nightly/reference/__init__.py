"""Reference: what is known of a symbol besides its bars."""
