"""Charts: pictures of setups as they are asked for, and the data of the interactive ones."""
