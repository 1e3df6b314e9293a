import { expect } from 'chai';
import type { Database } from 'mortise/sdk';
import { createTestHost, databaseProbe, type TestHost, type TestHostOptions } from 'mortise/sdk/testing';

/** Row counts of what an upload makes. */
interface Counts {
  readonly items: number;
  readonly attachments: number;
  readonly audits: number;
}

/** The answer of a tool call over MCP: its result, or the error that it could not answer with one. */
interface ToolAnswer {
  readonly result: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly error: { readonly code: number; readonly data: Readonly<Record<string, unknown>> } | undefined;
  readonly correlationId: string | null;
}

export interface Subject {
  readonly host: TestHost;
  readonly database: Database;
  upload(args: object, headers?: Readonly<Record<string, string>>): Promise<ToolAnswer>;
  counts(): Promise<Counts>;
  /** The newest audit row. */
  lastAudit(): Promise<Readonly<Record<string, unknown>>>;
}

async function tablesOf(database: Database): Promise<Counts> {
  const count = async (table: string): Promise<number> => {
    const { rows } = await database.statement<{ n: number }>(`select count(*) as n from {${table}}`);
    return rows[0]?.n ?? -1;
  };
  return {
    items: await count('logbook.items'),
    attachments: await count('logbook.attachments'),
    audits: await count('governance.write_audit'),
  };
}

/** A platform with the plugin, reached through its endpoint. */
export async function openSubject(options: TestHostOptions = {}): Promise<Subject> {
  const probe = databaseProbe(['logbook', 'governance', 'identity']);
  const host = await createTestHost({
    plugins: ['mcp-server', 'memory-gateway', 'memory-backend-local', 'evidence-store'],
    ...options,
    extra: [probe.plugin, ...(options.extra ?? [])],
  });
  const { database } = probe;
  return {
    host,
    database,
    async upload(args, headers) {
      const response = await host.post(
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'evidence_upload', arguments: args } },
        headers,
      );
      const body = (await response.json()) as {
        readonly result?: { readonly content: readonly { readonly text: string }[]; readonly isError?: boolean };
        readonly error?: ToolAnswer['error'];
      };
      const text = body.result?.content[0]?.text ?? '{}';
      return {
        result: JSON.parse(text) as ToolAnswer['result'],
        isError: body.result?.isError === true,
        error: body.error,
        correlationId: response.headers.get('x-correlation-id'),
      };
    },
    counts: () => tablesOf(database),
    async lastAudit() {
      const [row] = (await host.service('audit').query({ limit: 1 })).rows;
      expect(row).to.not.equal(undefined);
      return { ...row };
    },
  };
}
