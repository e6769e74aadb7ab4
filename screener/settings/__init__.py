"""Settings: what an operator may choose, and what every command needs: console, logs, database."""
