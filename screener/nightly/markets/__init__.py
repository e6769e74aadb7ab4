"""Markets: on which days exchanges trade."""
