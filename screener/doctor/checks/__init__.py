"""What `screener doctor` looks at: each check is a function from the settings to findings."""
