"""Commands of nights: bars, the nightly, the ledger, reports."""
