"""A soak: a service under a steady load of all kinds for long, with a night switch a minute."""
