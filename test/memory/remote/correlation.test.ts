import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import type { Json } from '../memory-host.js';
import { type RemoteMemory, startRemoteMemory } from './remote-memory.js';

const FORM = /^corr-[0-9a-f]{16}$/;
const FORGED = 'corr-0123456789abcdef';

/** One request, and every place of its answer where its id must be. */
interface Door {
  readonly what: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly places: readonly (readonly string[])[];
}

const rpc = (method: string, params: Json = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const call = (name: string, args: Json) => rpc('tools/call', { name, arguments: args });
const top = [['correlation_id']];
const meta = [['result', '_meta', 'io.mortise/correlationId']];
const newer = { 'mcp-protocol-version': '2025-06-18' };
const memory = { payload_md: 'By its id.', target_space: 'private:a' };

const doors: readonly Door[] = [
  { what: 'the health check', path: '/health', places: top },
  { what: 'a store', path: '/memory/store', body: memory, places: top },
  { what: 'a store that breaks the schema', path: '/memory/store', body: {}, places: top },
  { what: 'a refused store', path: '/memory/store', body: { payload_md: 'x', target_space: 'x:y' }, places: top },
  { what: 'a query', path: '/memory/query', body: { query: 'x', spaces: ['private:a'] }, places: top },
  { what: 'a query that breaks the schema', path: '/memory/query', body: {}, places: top },
  { what: 'the report', path: '/reliability/report', places: top },
  { what: 'a refused change of the policy', path: '/governance/settings/update', body: {}, places: top },
  { what: 'the audit trail', path: '/memory/audit', places: top },
  { what: 'the outbox', path: '/memory/outbox', places: top },
  {
    what: 'a foreign page',
    path: '/memory/store',
    body: memory,
    headers: { origin: 'http://evil.example' },
    places: top,
  },
  { what: 'a wrong method', path: '/memory/store', method: 'DELETE', places: top },
  {
    what: 'a body of another type',
    path: '/memory/store',
    body: 'x',
    headers: { 'content-type': 'text/plain' },
    places: top,
  },
  { what: 'a path below the endpoint', path: '/mcp/x', places: top },
  { what: 'OPTIONS', path: '/mcp', method: 'OPTIONS', places: top },
  { what: 'a list of tools', path: '/mcp', body: rpc('tools/list'), places: meta },
  { what: 'a handshake', path: '/mcp', body: rpc('initialize'), places: meta },
  { what: 'a tool call', path: '/mcp', body: call('memory_query', { query: 'x' }), places: [['text']] },
  {
    what: 'a tool call of a newer client',
    path: '/mcp',
    headers: newer,
    body: call('memory_query', { query: 'x' }),
    places: [['text'], ['result', 'structuredContent', 'correlation_id']],
  },
  {
    what: 'an upload of evidence',
    path: '/mcp',
    body: call('evidence_upload', { content: 'x', content_type: 'text/plain' }),
    places: [['text']],
  },
  { what: 'a failed call', path: '/mcp', body: call('nope', {}), places: [['error', 'data', 'correlation_id']] },
  { what: 'an unreadable body', path: '/mcp', body: '{', places: [['error', 'data', 'correlation_id']] },
  {
    what: 'the older form',
    path: '/mcp',
    body: { tool: 'memory_query', arguments: { query: 'x' } },
    places: [...top, ['result', 'correlation_id']],
  },
  { what: 'an error of the older form', path: '/mcp', body: { tool: 'nope' }, places: top },
  { what: 'a body of no form', path: '/mcp', body: { method: 'tools/list' }, places: top },
];

/** The value at a place; `text` is the id inside the text of a tool's result. */
function at(body: Json, place: readonly string[]): unknown {
  if (place[0] !== 'text') return place.reduce<unknown>((inner, key) => (inner as Json | undefined)?.[key], body);
  const { content } = body.result as { readonly content: readonly { readonly text: string }[] };
  return (JSON.parse(content[0]?.text ?? '{}') as Json).correlation_id;
}

describe('the correlation id of a request', () => {
  eachDatabase(
    (engine) => {
      let remote: RemoteMemory;
      before(async function start() {
        this.timeout(30_000);
        remote = await startRemoteMemory(engine);
      });
      after(() => remote.stop());

      for (const { what, path, method, headers, body, places } of doors) {
        it(`is made by the server, and is the same wherever ${what} tells it`, async () => {
          const response = await remote.host.fetch(path, {
            method: method ?? (body === undefined ? 'GET' : 'POST'),
            headers: { 'content-type': 'application/json', 'x-correlation-id': FORGED, ...headers },
            ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
          });
          const id = response.headers.get('x-correlation-id');
          expect(id).to.match(FORM).and.not.equal(FORGED);
          const answer = (await response.json()) as Json;
          for (const place of places) expect(at(answer, place), place.join('.')).to.equal(id);
          expect(remote.host.logs.some((line) => line.includes(String(id)))).to.equal(true);
        });
      }

      it('goes with the memory into every row, the backend and what happens later', async () => {
        const refused = await remote.storeUnder({ kind: 'status', status: 400 }, 'Refused for good.');
        const waiting = await remote.storeUnder({ kind: 'success-false' }, 'Waits.');
        const stored = await remote.store({ ...memory, payload_md: 'Stored.' });
        await remote.deliver();
        for (const [answer, rows] of [
          [refused, 2],
          [waiting, 2],
          [stored, 1],
        ] as const) {
          const id = answer.body.correlation_id;
          expect(await remote.count('governance.write_audit', 'correlation_id = ?', id)).to.equal(rows);
          expect(await remote.count('logbook.memories', 'correlation_id = ?', id)).to.equal(1);
          const isStored = answer !== refused;
          const kept = [...remote.server.memories.values()].filter(({ metadata }) => metadata.correlation_id === id);
          expect(kept).to.have.length(isStored ? 1 : 0);
        }
        for (const { body } of [refused, waiting]) {
          expect((await remote.outboxRow(body.outbox_id)).correlationId).to.equal(body.correlation_id);
        }
      });

      it('stands beside the id that the caller gives its request', async () => {
        const requestId = async (sent?: string) => {
          const headers: Record<string, string> = sent === undefined ? {} : { 'x-request-id': sent };
          return (await remote.host.fetch('/health', { headers })).headers.get('x-request-id');
        };
        expect(await requestId('My.own:id-1')).to.equal('My.own:id-1');
        for (const odd of [undefined, 'two words', 'x'.repeat(129), '<b>']) {
          expect(await requestId(odd)).to.match(/^[0-9a-f]{16}$/);
        }
      });
    },
    { keepRows: true },
  );
});
