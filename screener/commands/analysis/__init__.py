"""Commands of analysts: what bars are worth, what the detector makes of them, and why."""
