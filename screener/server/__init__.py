"""The port, the connections to it, and the processes that serve them."""
