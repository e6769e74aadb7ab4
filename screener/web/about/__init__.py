"""Pages about the service: documents, connecting, policies."""
