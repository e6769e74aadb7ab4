"""Accounts, their credentials and what they track; sign-in of people and of agent hosts; the audit
log. It is what the migrations up to 0007 made, of which none remains: databases begin here.
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = None

SCHEMA = """
    CREATE TABLE accounts (
        id {id} NOT NULL, email VARCHAR(254) NOT NULL, "plan" VARCHAR(16) NOT NULL,
        active BOOLEAN NOT NULL, password_hash VARCHAR(255), created_at {time} NOT NULL,
        CONSTRAINT pk_accounts PRIMARY KEY (id), CONSTRAINT uq_accounts_email UNIQUE (email)
    );
    CREATE TABLE keys (
        id {id} NOT NULL, account_id INTEGER NOT NULL, prefix VARCHAR(16) NOT NULL,
        secret_hash VARCHAR(64) NOT NULL, name VARCHAR(100) NOT NULL, created_at {time} NOT NULL,
        revoked_at {time}, expires_at {time}, read_only BOOLEAN DEFAULT {false} NOT NULL,
        CONSTRAINT pk_keys PRIMARY KEY (id), CONSTRAINT uq_keys_prefix UNIQUE (prefix),
        CONSTRAINT uq_keys_secret_hash UNIQUE (secret_hash),
        CONSTRAINT fk_keys_account_id FOREIGN KEY (account_id) REFERENCES accounts (id)
    );
    CREATE INDEX ix_keys_account_id ON keys (account_id);
    CREATE TABLE watchlist (
        account_id INTEGER NOT NULL, symbol VARCHAR(24) NOT NULL, position INTEGER NOT NULL,
        CONSTRAINT pk_watchlist PRIMARY KEY (account_id, symbol),
        CONSTRAINT fk_watchlist_account_id FOREIGN KEY (account_id) REFERENCES accounts (id)
    );
    CREATE TABLE usage (
        account_id INTEGER NOT NULL, day DATE NOT NULL, key_prefix VARCHAR(16) NOT NULL,
        operation VARCHAR(40) NOT NULL, client VARCHAR(200) NOT NULL, host VARCHAR(200) NOT NULL,
        calls INTEGER NOT NULL, last_at {time} NOT NULL,
        CONSTRAINT pk_usage PRIMARY KEY (account_id, day, key_prefix, operation, client, host),
        CONSTRAINT fk_usage_account_id FOREIGN KEY (account_id) REFERENCES accounts (id)
    );
    CREATE INDEX ix_usage_last_use ON usage (account_id, key_prefix, last_at);
    CREATE TABLE sessions (
        token_hash VARCHAR(64) NOT NULL, account_id INTEGER NOT NULL, created_at {time} NOT NULL,
        seen_at {time} NOT NULL, agent VARCHAR(200) DEFAULT '' NOT NULL,
        network VARCHAR(45) DEFAULT '' NOT NULL, proven_at {time},
        CONSTRAINT pk_sessions PRIMARY KEY (token_hash),
        CONSTRAINT fk_sessions_account_id FOREIGN KEY (account_id) REFERENCES accounts (id)
    );
    CREATE INDEX ix_sessions_account_id ON sessions (account_id);
    CREATE TABLE browsers (
        token_hash VARCHAR(64) NOT NULL, account_id INTEGER NOT NULL, seen_at {time} NOT NULL,
        CONSTRAINT pk_browsers PRIMARY KEY (token_hash),
        CONSTRAINT fk_browsers_account_id FOREIGN KEY (account_id) REFERENCES accounts (id)
    );
    CREATE INDEX ix_browsers_account_id ON browsers (account_id);
    CREATE TABLE used_forms (
        form_hash VARCHAR(64) NOT NULL, expires_at {time} NOT NULL,
        CONSTRAINT pk_used_forms PRIMARY KEY (form_hash)
    );
    CREATE TABLE clients (
        client_id VARCHAR(300) NOT NULL, secret_hash VARCHAR(64), auth_method VARCHAR(32) NOT NULL,
        name VARCHAR(200) NOT NULL, redirect_uris JSON NOT NULL, created_at {time} NOT NULL,
        approved_at {time}, fresh_until {time}, network VARCHAR(45) DEFAULT '' NOT NULL,
        used_at {time}, CONSTRAINT pk_clients PRIMARY KEY (client_id)
    );
    CREATE INDEX ix_clients_network ON clients (network, created_at);
    CREATE TABLE grants (
        id {id} NOT NULL, prefix VARCHAR(16) NOT NULL, account_id INTEGER NOT NULL,
        client_id VARCHAR(300) NOT NULL, name VARCHAR(200) NOT NULL, created_at {time} NOT NULL,
        revoked_at {time}, read_only BOOLEAN DEFAULT {false} NOT NULL,
        CONSTRAINT pk_grants PRIMARY KEY (id), CONSTRAINT uq_grants_prefix UNIQUE (prefix),
        CONSTRAINT fk_grants_account_id FOREIGN KEY (account_id) REFERENCES accounts (id),
        CONSTRAINT fk_grants_client_id FOREIGN KEY (client_id) REFERENCES clients (client_id)
    );
    CREATE INDEX ix_grants_account_id ON grants (account_id);
    CREATE INDEX ix_grants_client_id ON grants (client_id);
    CREATE TABLE codes (
        code_hash VARCHAR(64) NOT NULL, grant_id INTEGER NOT NULL, redirect_uri TEXT NOT NULL,
        code_challenge VARCHAR(128) NOT NULL, expires_at {time} NOT NULL, consumed_at {time},
        CONSTRAINT pk_codes PRIMARY KEY (code_hash),
        CONSTRAINT fk_codes_grant_id FOREIGN KEY (grant_id) REFERENCES grants (id)
    );
    CREATE INDEX ix_codes_grant_id ON codes (grant_id);
    CREATE TABLE tokens (
        token_hash VARCHAR(64) NOT NULL, grant_id INTEGER NOT NULL, kind VARCHAR(8) NOT NULL,
        expires_at {time} NOT NULL, consumed_at {time}, seed VARCHAR(43),
        CONSTRAINT pk_tokens PRIMARY KEY (token_hash),
        CONSTRAINT fk_tokens_grant_id FOREIGN KEY (grant_id) REFERENCES grants (id)
    );
    CREATE INDEX ix_tokens_grant_id ON tokens (grant_id);
    CREATE TABLE audit (
        id {id} NOT NULL, at {time} NOT NULL, kind VARCHAR(24) NOT NULL, account_id INTEGER,
        actor VARCHAR(16) NOT NULL, network VARCHAR(45) NOT NULL, agent VARCHAR(200) NOT NULL,
        subject VARCHAR(200) NOT NULL, CONSTRAINT pk_audit PRIMARY KEY (id)
    );
    CREATE INDEX ix_audit_at ON audit (at);
    CREATE INDEX ix_audit_account_id ON audit (account_id);
    CREATE INDEX ix_audit_pace ON audit (account_id, kind, at)
"""

WORDS = {
    "sqlite": {"id": "INTEGER", "time": "DATETIME", "false": "0"},
    "postgresql": {"id": "SERIAL", "time": "TIMESTAMP WITH TIME ZONE", "false": "false"},
}
"""What each engine calls a number that it chooses, a time, and what is not so."""

LASTING = "The audit log is only added to."


def upgrade() -> None:
    """Create the tables, and let nobody change what the audit log holds."""
    engine = op.get_bind().dialect.name
    for statement in SCHEMA.format(**WORDS[engine]).split(";"):
        op.execute(statement)
    if engine == "sqlite":
        then = f"BEGIN SELECT RAISE(ABORT, '{LASTING}'); END"
        op.execute(f"CREATE TRIGGER audit_lasts BEFORE UPDATE ON audit {then}")
    else:
        body = f"BEGIN RAISE EXCEPTION '{LASTING}'; END"
        op.execute(f"CREATE FUNCTION audit_lasts() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
        when = "BEFORE UPDATE ON audit FOR EACH ROW"
        op.execute(f"CREATE TRIGGER audit_lasts {when} EXECUTE FUNCTION audit_lasts()")
