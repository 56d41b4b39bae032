-- The whole schema of an embedded vault. Times are whole microseconds since 1970, UTC. Lists and handoffs are JSON text.
-- Keys start with the space wherever a row belongs to one. Rows of one space never refer to rows of another; there are no foreign
-- keys, for a purge erases by name, and the same schema must distribute by space in another engine.

CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
);
INSERT INTO clock (one, last) VALUES (1, 0);

CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE spaces (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    number INTEGER NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE projects (
    space_id TEXT NOT NULL,
    id TEXT NOT NULL,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    folded_name TEXT NOT NULL,
    folder TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (space_id, id),
    UNIQUE (space_id, slug)
) WITHOUT ROWID;
CREATE INDEX projects_name ON projects (space_id, name);
CREATE INDEX projects_folded_name ON projects (space_id, folded_name);

-- `row` is stable, so that a document finds its memory in one step.
CREATE TABLE memories (
    row INTEGER PRIMARY KEY,
    space_id TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    version INTEGER NOT NULL,
    revision TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    occurred_start INTEGER NOT NULL,
    occurred_end INTEGER NOT NULL,
    occurred_precision TEXT NOT NULL,
    project_id TEXT,
    agent TEXT,
    client TEXT,
    session_id TEXT,
    source TEXT NOT NULL,
    channel TEXT,
    privacy TEXT NOT NULL,
    confidence REAL NOT NULL,
    review TEXT NOT NULL,
    superseded_by TEXT,
    reinforcements INTEGER NOT NULL,
    last_seen_at INTEGER,
    pinned INTEGER NOT NULL,
    derived INTEGER NOT NULL,
    expires_at INTEGER,
    archived_at INTEGER,
    fingerprint TEXT NOT NULL,
    language TEXT,
    tags TEXT NOT NULL,
    files TEXT NOT NULL,
    archive_reason TEXT,
    review_note TEXT,
    title TEXT NOT NULL,
    summary TEXT,
    thesis TEXT,
    handoff TEXT,
    content TEXT NOT NULL,
    UNIQUE (space_id, id)
);
CREATE INDEX memories_recorded ON memories (space_id, recorded_at);
-- The last two columns are constant in it; they let counts of live memories be answered from the index alone.
CREATE INDEX memories_project ON memories (space_id, project_id, recorded_at, archived_at, review)
    WHERE archived_at IS NULL AND review <> 'superseded';
CREATE INDEX memories_channel ON memories (space_id, channel, recorded_at) WHERE channel IS NOT NULL;
CREATE INDEX memories_session ON memories (space_id, session_id, recorded_at) WHERE session_id IS NOT NULL;
CREATE INDEX memories_fingerprint ON memories (space_id, fingerprint, recorded_at);
CREATE INDEX memories_number ON memories (space_id, project_id, kind, number);

CREATE TABLE memory_versions (
    space_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    project_id TEXT,
    revision TEXT NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    agent TEXT,
    tags TEXT NOT NULL,
    files TEXT NOT NULL,
    title TEXT NOT NULL,
    handoff TEXT,
    content TEXT NOT NULL,
    PRIMARY KEY (space_id, memory_id, version)
);

CREATE TABLE counters (
    space_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (space_id, project_id, kind)
) WITHOUT ROWID;

CREATE TABLE tombstones (
    space_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    purged_at INTEGER NOT NULL,
    PRIMARY KEY (space_id, memory_id)
) WITHOUT ROWID;
CREATE INDEX tombstones_memory ON tombstones (memory_id);

CREATE TABLE links (
    space_id TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    source_type TEXT NOT NULL,
    source_id TEXT NOT NULL,
    target_type TEXT NOT NULL,
    target_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (space_id, id)
) WITHOUT ROWID;
CREATE INDEX links_source ON links (space_id, source_id);
CREATE INDEX links_target ON links (space_id, target_id);

CREATE TABLE confidence (
    id INTEGER PRIMARY KEY,
    space_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    old_score REAL,
    new_score REAL NOT NULL,
    reason TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX confidence_memory ON confidence (space_id, memory_id);

CREATE TABLE jobs (
    space_id TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    state TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT,
    payload TEXT NOT NULL,
    PRIMARY KEY (space_id, id)
) WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (kind, due_at, id) WHERE state = 'queued';
CREATE INDEX jobs_entity ON jobs (space_id, entity_id);
CREATE INDEX jobs_state ON jobs (kind, state);

CREATE TABLE events (
    space_id TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    entity_type TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    entity_name TEXT NOT NULL,
    importance INTEGER NOT NULL,
    session_id TEXT,
    agent TEXT,
    PRIMARY KEY (space_id, id)
) WITHOUT ROWID;
CREATE INDEX events_at ON events (space_id, at);
CREATE INDEX events_entity ON events (space_id, entity_id);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    tool_name TEXT NOT NULL,
    agent TEXT,
    session_id TEXT,
    input_summary TEXT NOT NULL,
    output_status TEXT NOT NULL,
    duration_ms REAL NOT NULL,
    error_message TEXT,
    token_id TEXT,
    tokens INTEGER NOT NULL
);
CREATE INDEX audit_at ON audit (at);

-- document_id is space number << 40 | sequence: one space's documents are a range of row ids, which full text bounds natively.
CREATE TABLE documents (
    document_id INTEGER PRIMARY KEY,
    space_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    memory_row INTEGER NOT NULL,
    UNIQUE (space_id, memory_id)
);

-- Terms come analysed: the tokenizer parts them at spaces and at nothing else. `scope` holds the hashed filter terms.
-- detail=full, although no query asks for positions: on a contentless table bm25() scores nothing without them (measured: all 0).
CREATE VIRTUAL TABLE documents_text USING fts5(
    title, body, labels, scope,
    content='', contentless_delete=1, detail=full,
    tokenize="ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
CREATE VIRTUAL TABLE documents_terms USING fts5vocab(documents_text, 'row');
