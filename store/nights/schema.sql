-- A book: one sealed night, read-only once published. Bodies are the JSON bytes that are served.
CREATE TABLE symbols (      -- every known symbol
    symbol  TEXT PRIMARY KEY,
    covered INTEGER NOT NULL,               -- 1: analysed tonight
    reason  TEXT                            -- the code of the rule that refused it; NULL if covered
);
CREATE TABLE patterns (     -- the answer of the patterns route, one for each symbol with bars
    symbol TEXT PRIMARY KEY REFERENCES symbols,
    body   BLOB NOT NULL                    -- Patterns
);
CREATE TABLE setups (       -- the current setups, by id
    setup_id TEXT PRIMARY KEY,
    symbol   TEXT NOT NULL REFERENCES symbols,
    body     BLOB NOT NULL,                 -- Setup
    evidence BLOB NOT NULL                  -- JSON: the quality score and its parts
);
CREATE TABLE history (      -- every first attempt of a symbol, newest entry first
    symbol   TEXT PRIMARY KEY REFERENCES symbols,
    outcomes TEXT NOT NULL,                 -- one letter per row: w (win), l (loss) or o (open)
    rows     BLOB NOT NULL                  -- HistoryRow bodies, one per line
);
CREATE TABLE ticker_records (  -- the own track records of every covered symbol
    symbol TEXT PRIMARY KEY REFERENCES symbols,
    body   BLOB NOT NULL                    -- TickerRecord
);
CREATE TABLE prices (       -- the bars that charts need
    symbol TEXT PRIMARY KEY REFERENCES symbols,
    bars   INTEGER NOT NULL,                -- n
    body   BLOB NOT NULL                    -- int32 days[n], then float32 open, high, low, close[n]
                                            -- and volume[n], which older nights lack
);
CREATE TABLE nearest (      -- what came furthest on each covered symbol without a setup; older nights
    symbol TEXT PRIMARY KEY REFERENCES symbols, -- lack the table
    body   BLOB NOT NULL                    -- NearestDrawing
);
CREATE TABLE scan (         -- the market-wide scan, best rank first
    rank   INTEGER PRIMARY KEY,
    status TEXT NOT NULL,
    body   BLOB NOT NULL                    -- ScanSetup
);
CREATE TABLE evidence (     -- the columns that the scan's filters match on, one column per row
    name   TEXT PRIMARY KEY,
    labels TEXT,                            -- JSON list of labels for int16 codes; NULL: numbers
    body   BLOB NOT NULL                    -- float64[n] (NaN: no evidence) or int16[n] (-1: none)
);
CREATE TABLE families (
    family TEXT PRIMARY KEY,
    body   BLOB NOT NULL                    -- FamilyEntry
);
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
);
