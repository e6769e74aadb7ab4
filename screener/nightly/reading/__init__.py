"""Reading: bars from files of many forms."""
