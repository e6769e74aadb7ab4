CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)

CREATE TABLE accounts (
    id SERIAL NOT NULL,
    email VARCHAR(254) NOT NULL,
    plan VARCHAR(16) NOT NULL,
    active BOOLEAN NOT NULL,
    password_hash VARCHAR(255),
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_accounts PRIMARY KEY (id),
    CONSTRAINT uq_accounts_email UNIQUE (email)
)

CREATE TABLE keys (
    id SERIAL NOT NULL,
    account_id INTEGER NOT NULL,
    prefix VARCHAR(16) NOT NULL,
    secret_hash VARCHAR(64) NOT NULL,
    name VARCHAR(100) NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_keys PRIMARY KEY (id),
    CONSTRAINT fk_keys_account_id FOREIGN KEY(account_id) REFERENCES accounts (id),
    CONSTRAINT uq_keys_prefix UNIQUE (prefix),
    CONSTRAINT uq_keys_secret_hash UNIQUE (secret_hash)
)

CREATE INDEX ix_keys_account_id ON keys (account_id)

CREATE TABLE watchlist (
    account_id INTEGER NOT NULL,
    symbol VARCHAR(24) NOT NULL,
    position INTEGER NOT NULL,
    CONSTRAINT pk_watchlist PRIMARY KEY (account_id, symbol),
    CONSTRAINT fk_watchlist_account_id FOREIGN KEY(account_id) REFERENCES accounts (id)
)

CREATE TABLE usage (
    account_id INTEGER NOT NULL,
    day DATE NOT NULL,
    key_prefix VARCHAR(16) NOT NULL,
    operation VARCHAR(40) NOT NULL,
    client VARCHAR(200) NOT NULL,
    host VARCHAR(200) NOT NULL,
    calls INTEGER NOT NULL,
    last_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_usage PRIMARY KEY (account_id, day, key_prefix, operation, client, host),
    CONSTRAINT fk_usage_account_id FOREIGN KEY(account_id) REFERENCES accounts (id)
)

CREATE TABLE sessions (
    token_hash VARCHAR(64) NOT NULL,
    account_id INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_sessions PRIMARY KEY (token_hash),
    CONSTRAINT fk_sessions_account_id FOREIGN KEY(account_id) REFERENCES accounts (id)
)

CREATE INDEX ix_sessions_account_id ON sessions (account_id)

CREATE TABLE clients (
    client_id VARCHAR(300) NOT NULL,
    secret_hash VARCHAR(64),
    auth_method VARCHAR(32) NOT NULL,
    name VARCHAR(200) NOT NULL,
    redirect_uris JSON NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    approved_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_clients PRIMARY KEY (client_id)
)

CREATE TABLE grants (
    id SERIAL NOT NULL,
    prefix VARCHAR(16) NOT NULL,
    account_id INTEGER NOT NULL,
    client_id VARCHAR(300) NOT NULL,
    name VARCHAR(200) NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_grants PRIMARY KEY (id),
    CONSTRAINT uq_grants_prefix UNIQUE (prefix),
    CONSTRAINT fk_grants_account_id FOREIGN KEY(account_id) REFERENCES accounts (id),
    CONSTRAINT fk_grants_client_id FOREIGN KEY(client_id) REFERENCES clients (client_id)
)

CREATE INDEX ix_grants_client_id ON grants (client_id)

CREATE INDEX ix_grants_account_id ON grants (account_id)

CREATE TABLE codes (
    code_hash VARCHAR(64) NOT NULL,
    grant_id INTEGER NOT NULL,
    redirect_uri TEXT NOT NULL,
    code_challenge VARCHAR(128) NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    consumed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_codes PRIMARY KEY (code_hash),
    CONSTRAINT fk_codes_grant_id FOREIGN KEY(grant_id) REFERENCES grants (id)
)

CREATE INDEX ix_codes_grant_id ON codes (grant_id)

CREATE TABLE tokens (
    token_hash VARCHAR(64) NOT NULL,
    grant_id INTEGER NOT NULL,
    kind VARCHAR(8) NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    consumed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_tokens PRIMARY KEY (token_hash),
    CONSTRAINT fk_tokens_grant_id FOREIGN KEY(grant_id) REFERENCES grants (id)
)

CREATE INDEX ix_tokens_grant_id ON tokens (grant_id)

ALTER TABLE clients ADD COLUMN fresh_until TIMESTAMP WITH TIME ZONE

CREATE TABLE changes (
    id SERIAL NOT NULL,
    count BIGINT NOT NULL,
    CONSTRAINT pk_changes PRIMARY KEY (id)
)

CREATE INDEX ix_usage_last_use ON usage (account_id, key_prefix, last_at)

ALTER TABLE tokens ADD COLUMN seed VARCHAR(43)

ALTER TABLE keys ADD COLUMN expires_at TIMESTAMP WITH TIME ZONE

ALTER TABLE keys ADD COLUMN read_only BOOLEAN DEFAULT false NOT NULL

ALTER TABLE grants ADD COLUMN read_only BOOLEAN DEFAULT false NOT NULL

ALTER TABLE sessions ADD COLUMN agent VARCHAR(200) DEFAULT '' NOT NULL

ALTER TABLE sessions ADD COLUMN network VARCHAR(45) DEFAULT '' NOT NULL

ALTER TABLE sessions ADD COLUMN proven_at TIMESTAMP WITH TIME ZONE

ALTER TABLE clients ADD COLUMN network VARCHAR(45) DEFAULT '' NOT NULL

ALTER TABLE clients ADD COLUMN used_at TIMESTAMP WITH TIME ZONE

CREATE INDEX ix_clients_network ON clients (network, created_at)

CREATE TABLE audit (
    id SERIAL NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    kind VARCHAR(24) NOT NULL,
    account_id INTEGER,
    actor VARCHAR(16) NOT NULL,
    network VARCHAR(45) NOT NULL,
    agent VARCHAR(200) NOT NULL,
    subject VARCHAR(200) NOT NULL,
    CONSTRAINT pk_audit PRIMARY KEY (id)
)

CREATE INDEX ix_audit_at ON audit (at)

CREATE INDEX ix_audit_account_id ON audit (account_id)

CREATE INDEX ix_audit_pace ON audit (account_id, kind, at)

CREATE TABLE browsers (
    token_hash VARCHAR(64) NOT NULL,
    account_id INTEGER NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_browsers PRIMARY KEY (token_hash),
    CONSTRAINT fk_browsers_account_id FOREIGN KEY(account_id) REFERENCES accounts (id)
)

CREATE INDEX ix_browsers_account_id ON browsers (account_id)

CREATE TABLE used_forms (
    form_hash VARCHAR(64) NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_used_forms PRIMARY KEY (form_hash)
)

CREATE FUNCTION audit_lasts() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'The audit log is only added to.'; END$$

CREATE TRIGGER audit_lasts BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_lasts()

CREATE TABLE changing_transactions (
    id BIGINT NOT NULL,
    at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_changing_transactions PRIMARY KEY (id)
)

CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO changing_transactions (id) VALUES (pg_current_xact_id()::text::bigint)
            ON CONFLICT DO NOTHING;
        PERFORM pg_notify('screener_changes', '');
        RETURN NULL;
    END
$$

CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON accounts FOR EACH STATEMENT EXECUTE FUNCTION note_change()

CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON keys FOR EACH STATEMENT EXECUTE FUNCTION note_change()

CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON grants FOR EACH STATEMENT EXECUTE FUNCTION note_change()

CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON tokens FOR EACH STATEMENT EXECUTE FUNCTION note_change()

CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON watchlist FOR EACH STATEMENT EXECUTE FUNCTION note_change()

INSERT INTO changes (id, count) VALUES (1, 0)

INSERT INTO alembic_version (version_num) VALUES ('0007')
