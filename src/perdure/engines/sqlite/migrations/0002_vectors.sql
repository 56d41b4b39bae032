-- Embeddings of live memories, one row for a memory: its windows one after the other, as little-endian float16 numbers (empty where
-- the text has no words). A row is never changed, and its number never used again (but by a transaction that did not happen), so
-- that what an index in memory knows of a row stays true.
CREATE TABLE vectors (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    memory_row INTEGER NOT NULL,
    model INTEGER NOT NULL,
    revision TEXT NOT NULL,
    windows BLOB NOT NULL,
    UNIQUE (space_id, memory_id)
);
CREATE INDEX vectors_model ON vectors (space_id, model, row, memory_id, memory_row);
CREATE INDEX vectors_memory ON vectors (memory_row, model);

CREATE TABLE vector_models (
    model INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE
);

-- What an index needs to know before it reads rows: how many there are, their size, and the last one ever added.
CREATE TABLE vector_states (
    space_id TEXT NOT NULL,
    model INTEGER NOT NULL,
    present INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (space_id, model)
) WITHOUT ROWID;
CREATE TRIGGER vectors_added AFTER INSERT ON vectors BEGIN
    INSERT INTO vector_states (space_id, model, present, bytes, last)
    VALUES (new.space_id, new.model, 1, length(new.windows), new.row)
    ON CONFLICT (space_id, model) DO UPDATE
    SET present = present + 1, bytes = bytes + length(new.windows), last = new.row;
END;
CREATE TRIGGER vectors_removed AFTER DELETE ON vectors BEGIN
    UPDATE vector_states SET present = present - 1, bytes = bytes - length(old.windows)
    WHERE space_id = old.space_id AND model = old.model;
END;

-- Here and not beside the other statements of a purge: the row number of an erased memory may be given to another one.
CREATE TRIGGER memories_erased AFTER DELETE ON memories BEGIN
    DELETE FROM vectors WHERE memory_row = old.row;
END;

-- The model of the document's vectors, so that documents without them are found by an index.
ALTER TABLE documents ADD COLUMN model INTEGER;
CREATE INDEX documents_model ON documents (model, document_id);

-- The graph over a space's vectors, without the vectors: a cache. What is said of it is written last, after all its parts.
CREATE TABLE vector_graphs (
    space_id TEXT NOT NULL,
    model INTEGER NOT NULL,
    format TEXT NOT NULL,
    parts INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (space_id, model)
) WITHOUT ROWID;
CREATE TABLE vector_graph_parts (
    space_id TEXT NOT NULL,
    model INTEGER NOT NULL,
    part INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (space_id, model, part)
);
