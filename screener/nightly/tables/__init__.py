"""Tables: which columns of a stranger's table hold the bars, and how its values are written."""
