import { MortiseError, type MortiseErrorOptions } from 'mortise/sdk';

interface ErrorRow {
  readonly status: number;
  readonly message: string;
  readonly hint?: string;
}

/** Every error of the knowledge base. Placeholders in braces are details. */
const kbErrors = {
  invalid_request: { status: 400, message: '{field} {problem}.' },
  invalid_query: { status: 400, message: 'The query {problem}.' },
  invalid_evidence_ref: {
    status: 400,
    message: 'This is no evidence ref.',
    hint: 'An evidence ref has the form kb:<chunk_id>:<path>#L<start>-L<end>.',
  },
  repo_not_found: { status: 404, message: 'There is no repo "{repo}".', hint: 'mortise kb repos lists the repos.' },
  no_repos: {
    status: 404,
    message: 'No repo is configured, so there is nothing to search.',
    hint: 'Add one with mortise kb repos add NAME DIR, or name a folder with --root.',
  },
  not_indexed: {
    status: 409,
    message: 'The repo "{repo}" is not indexed.',
    hint: 'Run mortise kb refresh first, with the same --repo or --root.',
  },
  repo_unavailable: {
    status: 503,
    message: 'The folder of the repo "{repo}" is missing or is no folder. Nothing was changed.',
    hint: 'Restore the folder, or change it in config/kb.json.',
  },
  source_not_found: {
    status: 404,
    message: 'There is no indexed source "{path}".',
    hint: 'mortise kb sources lists the indexed files.',
  },
  chunk_not_found: {
    status: 404,
    message: 'There is no chunk "{chunk_id}".',
    hint: 'Search again: an id changes with the text of its passage. An evidence ref (kb:…) says what became of it.',
  },
  job_not_found: { status: 404, message: 'There is no job "{job_id}".', hint: 'GET /kb/jobs lists the last 100 jobs.' },
  refresh_running: {
    status: 409,
    message: 'A refresh of the repo "{repo}" is running.',
    hint: 'Wait for it, or cancel it.',
  },
  fts5_not_available: {
    status: 503,
    message: 'SQLite {version} has no FTS5.',
    hint: 'Install the dependencies again (npm ci): the bundled SQLite has FTS5.',
  },
  index_unavailable: {
    status: 503,
    message: 'The index cannot be used: {problem}.',
    hint: 'Run mortise kb repair, or mortise kb reindex --confirm.',
  },
  search_timeout: {
    status: 504,
    message: 'The search took longer than {seconds} s and was ended.',
    hint: 'Search with fewer or rarer words, or in fewer documents (path_glob, doc_types).',
  },
  embedder_unavailable: {
    status: 503,
    message: 'The embedder "{embedder}" is not active.',
    hint: 'Enable the plugin of the embedder, or choose another one with rerank.embedder.',
  },
  index_newer: {
    status: 503,
    message:
      'The index was written by a newer version (schema {found}, this version knows {known}). Nothing was changed.',
    hint: 'Use the newer version, or move kb.db away to build a new index.',
  },
} as const satisfies Record<string, ErrorRow>;

type KbErrorCode = keyof typeof kbErrors;

/** An error of the knowledge base with its row's status, sentence and hint. */
export function kbError(
  code: KbErrorCode,
  details: Readonly<Record<string, unknown>> = {},
  options: MortiseErrorOptions = {},
): MortiseError {
  const row: ErrorRow = kbErrors[code];
  const message = row.message.replace(/\{(\w+)\}/g, (_, name: string) => String(details[name] ?? ''));
  return new MortiseError(code, message, {
    status: row.status,
    ...(Object.keys(details).length > 0 ? { details } : {}),
    ...(row.hint === undefined ? {} : { hint: row.hint }),
    ...options,
  });
}

/** An error in a form that can be sent to another thread. */
export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly status: number;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly hint?: string;
}

/** The wire form of any error; what has no code becomes `index_unavailable`. */
export function toWireError(error: unknown): WireError {
  const known = error instanceof MortiseError ? error : kbError('index_unavailable', { problem: problemOf(error) });
  const { code, message, status, details, hint } = known;
  return { code, message, status, ...(details ? { details } : {}), ...(hint ? { hint } : {}) };
}

export function fromWireError({ code, message, status, details, hint }: WireError): MortiseError {
  return new MortiseError(code, message, { status, ...(details ? { details } : {}), ...(hint ? { hint } : {}) });
}

/** A database error without SQL or paths. */
function problemOf(error: unknown): string {
  const code = String((error as { code?: unknown }).code ?? '');
  if (/FULL|ENOSPC/.test(code)) return 'the disk is full';
  if (/BUSY|LOCKED/.test(code)) return 'another process has locked it';
  if (/CORRUPT|NOTADB/.test(code)) return 'its file is damaged';
  if (/CANTOPEN|READONLY|PERM|EACCES|EROFS|ENOTDIR/.test(code)) return 'its file cannot be opened or created';
  return code === '' ? 'an unexpected error' : `an unexpected error (${code})`;
}
