"""What a serving process is made of, and what it looks after."""
