"""The same nights in a bucket or a shared folder."""
