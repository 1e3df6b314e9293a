/** The version of the tables; every change is a further step of {@link migrations}. */
export const schemaVersion = 1;

/** Incremented when chunks, token streams or rows of the search table of the same file would differ. */
export const chunkingVersion = 3;

/**
 * The search table contains, per chunk, the ids of its distinct terms in base 36, in the column of their frequency. It
 * stores no text, and uses only options that SQLite 3.34 knows, so that any shell can drop it.
 */
const searchTable = `create virtual table if not exists kb_chunks_fts using fts5(
  f1, f2, f3, f4, f5, f6, f7, f8, content='', detail=column, tokenize="ascii")`;

/** Forward-only steps; each creates only what is missing, so that a dropped table is made again. */
export const migrations: readonly (readonly string[])[] = [
  [
    'create table if not exists kb_index_meta (key text primary key, value text not null) without rowid',
    `create table if not exists kb_repos (
      id integer primary key autoincrement, name text not null unique, root text not null,
      revision integer not null default 0, policy text, last_refresh integer)`,
    `create table if not exists kb_sources (
      id integer primary key autoincrement, repo integer not null references kb_repos on delete cascade,
      source_id text not null, path text not null, doc_type text not null, tags text not null, title text,
      bytes integer not null, mtime integer not null, mtime_ns text not null, ctime_ns text not null, inode text not null,
      read_at integer not null, file_hash text, document_time integer, commit_time integer, status text not null,
      reason text, detail text, warning text, indexed_at integer, unique (repo, path))`,
    `create table if not exists kb_chunks (
      id integer primary key autoincrement, source integer not null references kb_sources on delete cascade,
      chunk_id text not null unique, heading text, heading_path text not null, start_line integer not null,
      end_line integer not null, content text not null, content_hash blob not null, tokens integer not null,
      length integer not null, stream blob not null)`,
    'create index if not exists kb_chunks_source on kb_chunks (source)',
    'create index if not exists kb_chunks_hash on kb_chunks (content_hash)',
    `create table if not exists kb_terms (
      id integer primary key autoincrement, repo integer not null references kb_repos on delete cascade,
      term text not null, df integer not null, unique (repo, term))`,
    `create table if not exists kb_embeddings (
      content_hash blob not null, embedder text not null, model text not null, dimensions integer not null,
      vector blob not null, primary key (content_hash, embedder, model, dimensions)) without rowid`,
    `create table if not exists kb_query_vectors (
      id integer primary key autoincrement, query_hash blob not null, embedder text not null, model text not null,
      dimensions integer not null, vector blob not null, unique (query_hash, embedder, model, dimensions))`,
    `create table if not exists kb_leases (
      repo text primary key, pid integer not null, started text not null, token text not null,
      heartbeat integer not null) without rowid`,
    searchTable,
  ],
];

/** Every table; one that is missing means that the index is not complete. */
export const tables = [
  'kb_index_meta',
  'kb_repos',
  'kb_sources',
  'kb_chunks',
  'kb_terms',
  'kb_embeddings',
  'kb_query_vectors',
  'kb_leases',
  'kb_chunks_fts',
] as const;
