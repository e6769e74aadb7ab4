"""Evidence: what a night says of its own trades, and six filters on symbols held out.

`research/README.md` states the filters and how they are tested. They were written down before they
were run.
"""
