"""A soak: a service under a steady load of all kinds for a long time, with a night switch a minute."""
