"""Workers: the processes that analyse symbols, on this machine or on others."""
