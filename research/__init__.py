"""Research: programs that prove claims about the product. Nothing imports it."""
