import { hash } from 'node:crypto';
import type Database from 'better-sqlite3';

/** A set of vectors from one embedder and model, with one number of dimensions. */
export interface EmbedderId {
  readonly embedder: string;
  readonly model: string;
  readonly dimensions: number;
}

/** Query vectors that are kept. */
const maxQueryVectors = 10_000;

/** The vectors of contents (hex SHA-256), in order; null where there is none. */
export function vectorsOf(
  database: Database,
  hashes: readonly string[],
  { embedder, model, dimensions }: EmbedderId,
): readonly (Float32Array | null)[] {
  const find = database
    .prepare(
      'select vector from kb_embeddings where content_hash = ? and embedder = ? and model = ? and dimensions = ?',
    )
    .pluck();
  return hashes.map((one) => {
    const bytes = find.get([Buffer.from(one, 'hex'), embedder, model, dimensions]) as Uint8Array | undefined;
    return bytes === undefined ? null : toVector(bytes);
  });
}

/** Bytes of a row may be unaligned, so they are copied. Float32, little-endian. */
function toVector(bytes: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

function toBytes({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

export function queryVector(database: Database, query: string, id: EmbedderId): Float32Array | undefined {
  const bytes = database
    .prepare(
      'select vector from kb_query_vectors where query_hash = ? and embedder = ? and model = ? and dimensions = ?',
    )
    .pluck()
    .get([hashOf(query), id.embedder, id.model, id.dimensions]) as Uint8Array | undefined;
  return bytes === undefined ? undefined : toVector(bytes);
}

export function storeQueryVector(database: Database, query: string, id: EmbedderId, vector: Float32Array): void {
  database
    .prepare(
      'insert or ignore into kb_query_vectors (query_hash, embedder, model, dimensions, vector) values (?, ?, ?, ?, ?)',
    )
    .run([hashOf(query), id.embedder, id.model, id.dimensions, toBytes(vector)]);
  database
    .prepare('delete from kb_query_vectors where id <= (select max(id) from kb_query_vectors) - ?')
    .run([maxQueryVectors]);
}

function hashOf(query: string): Buffer {
  return hash('sha256', query, 'buffer');
}

/** Distinct contents without a vector, in order of their hash, after the one given. */
export function missingContents(
  database: Database,
  { embedder, model, dimensions }: EmbedderId,
  limit: number,
  repo: string | undefined,
  after: string,
): {
  readonly total: number;
  readonly missing: number;
  readonly contents: readonly { readonly hash: string; readonly content: string }[];
} {
  const scope = `from kb_chunks join kb_sources on kb_sources.id = source join kb_repos on kb_repos.id = kb_sources.repo
    where (? is null or kb_repos.name = ?)`;
  const lacking = `and not exists (select 1 from kb_embeddings e where e.content_hash = kb_chunks.content_hash
    and e.embedder = ? and e.model = ? and e.dimensions = ?)`;
  const own = [repo ?? null, repo ?? null];
  const set = [embedder, model, dimensions];
  const count = `select count(distinct content_hash) ${scope}`;
  const rows = database
    .prepare(`select content_hash, min(content) as content ${scope} ${lacking} and content_hash > ? group by content_hash
      order by content_hash limit ?`)
    .all([...own, ...set, Buffer.from(after, 'hex'), limit]) as { content_hash: Uint8Array; content: string }[];
  return {
    total: Number(database.prepare(count).pluck().get(own)),
    missing: Number(
      database
        .prepare(`${count} ${lacking}`)
        .pluck()
        .get([...own, ...set]),
    ),
    contents: rows.map((row) => ({ hash: Buffer.from(row.content_hash).toString('hex'), content: row.content })),
  };
}

/** Stores vectors of contents that are still there. */
export function storeVectors(
  database: Database,
  { embedder, model, dimensions }: EmbedderId,
  hashes: readonly string[],
  vectors: readonly Float32Array[],
): void {
  const insert = database.prepare(
    `insert or replace into kb_embeddings (content_hash, embedder, model, dimensions, vector)
     select ?, ?, ?, ?, ? where exists (select 1 from kb_chunks where content_hash = ?)`,
  );
  database
    .transaction(() => {
      for (const [index, one] of hashes.entries()) {
        const vector = vectors[index];
        if (vector === undefined) continue;
        const key = Buffer.from(one, 'hex');
        insert.run([key, embedder, model, dimensions, toBytes(vector), key]);
      }
    })
    .immediate();
}
