"""Archives, backup, restore, and the move to another database."""
