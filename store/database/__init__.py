"""The account database: engines, transactions, problems in words, tables, migrations."""
