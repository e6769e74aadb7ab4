"""The command line: the first start, accounts, backups."""
