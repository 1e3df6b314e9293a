import { readFile } from 'node:fs/promises';
import type { JournalLine } from './evidence.js';
import { type DatabaseReader, table } from './read-database.js';

/** Reads the backend's journal; a missing file is empty. */
export async function readJournal(file: string): Promise<readonly JournalLine[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JournalLine);
}

interface Document {
  readonly memory_id: string;
  readonly payload_md: string | null;
  readonly space: string | null;
  readonly kind: string | null;
  readonly meta_json: string | null;
  readonly evidence_json: string | null;
  readonly actor_user_id: string | null;
  readonly memory_key: string | null;
}

/**
 * Reads the backend in the product's own database in the form of a journal: its documents, each with the ledger row
 * that holds its text.
 */
export async function readLocalBackend(database: DatabaseReader): Promise<readonly JournalLine[]> {
  const documents = await database.rows<Document>(
    `select d.memory_id, m.payload_md, m.space, m.kind, cast(m.meta_json as text) as meta_json,
       cast(m.evidence_json as text) as evidence_json, m.actor_user_id, m.memory_key
     from ${table(database, 'logbook', 'memory_documents')} d
     left join ${table(database, 'logbook', 'memories')} m on m.backend_memory_id = d.memory_id
     order by d.memory_id`,
  );
  return documents.map((one) => ({
    as: 'stored',
    id: one.memory_id,
    content: one.payload_md ?? '',
    metadata: {
      ...(JSON.parse(one.meta_json ?? '{}') as object),
      space: one.space,
      kind: one.kind,
      actor_user_id: one.actor_user_id,
      evidence: JSON.parse(one.evidence_json ?? '[]'),
      mortise_key: one.memory_key,
    },
  }));
}
