import { readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { expect } from 'chai';
import { answerOf, type Json, type MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { startMemory } from './memory-host.js';

describe('the memory endpoints', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine);
      });
      after(() => memory.stop());

      it('return health with the first three members in order, and the correlation id of the header', async () => {
        const response = await memory.host.fetch('/health');
        const text = await response.text();
        expect(text).to.match(/^\{"ok":true,"status":"ok","service":"memory-gateway",/);
        expect(response.headers.get('x-correlation-id')).to.match(/^corr-[0-9a-f]{16}$/);
        expect(JSON.parse(text).correlation_id).to.equal(response.headers.get('x-correlation-id'));
        expect((await memory.get('/health?deep=1')).body).to.deep.include({ ok: true, status: 'ok' });
      });

      const methods: readonly [path: string, allowed: readonly string[]][] = [
        ['/health', ['GET', 'HEAD', 'OPTIONS']],
        ['/mcp', ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST']],
        ['/memory/store', ['OPTIONS', 'POST']],
        ['/memory/query', ['OPTIONS', 'POST']],
        ['/reliability/report', ['GET', 'HEAD', 'OPTIONS']],
        ['/governance/settings/update', ['OPTIONS', 'POST']],
      ];
      for (const [path, allowed] of methods) {
        it(`report the allowed methods of ${path} for any other method`, async () => {
          const method = allowed.includes('POST') ? 'PUT' : 'POST';
          const { status, headers, body } = await answerOf(await memory.host.fetch(path, { method }));
          expect([status, headers.get('allow')]).to.deep.equal([405, allowed.join(', ')]);
          expect(Object.keys(body)).to.deep.equal(['ok', 'error', 'detail', 'reason', 'correlation_id']);
          expect(body).to.deep.include({ ok: false, reason: 'METHOD_NOT_ALLOWED', detail: body.error });
        });
      }

      it('accept only allowed host names', async () => {
        const { port } = new URL(memory.host.origin);
        const health = (host: string) =>
          new Promise<{ status: number; text: string }>((resolve, reject) => {
            get({ port, path: '/health', headers: { host } }, (response) => {
              let text = '';
              response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
              response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
            }).on('error', reject);
          });
        for (const name of ['localhost', '127.0.0.1:9', '[::1]']) expect((await health(name)).status).to.equal(200);
        const foreign = await health('evil.example');
        expect(foreign.status).to.equal(403);
        expect(JSON.parse(foreign.text)).to.deep.include({ ok: false, reason: 'HOST_NOT_ALLOWED' });
      });

      it('have no routes below the endpoint, and none for OAuth discovery', async () => {
        const below = await answerOf(await memory.host.fetch('/mcp/sse'));
        expect([below.status, below.body.reason]).to.deep.equal([404, 'NOT_FOUND']);
        for (const path of ['oauth-authorization-server', 'oauth-protected-resource/mcp']) {
          const { status, headers } = await answerOf(await memory.host.fetch(`/.well-known/${path}`));
          expect([status, headers.get('content-type')]).to.deep.equal([404, 'application/json']);
        }
      });

      it('list the five tools within the token budget', async () => {
        const list = await memory.host.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
        const { tools } = (await answerOf(list)).body.result as { readonly tools: readonly Json[] };
        expect(tools.map(({ name }) => name)).to.deep.equal([
          'memory_store',
          'memory_query',
          'reliability_report',
          'governance_update',
          'evidence_upload',
        ]);
        for (const { description, inputSchema } of tools) {
          expect(description).to.be.a('string').and.not.equal('');
          expect(inputSchema).to.have.property('type', 'object');
        }
        const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
        expect(Buffer.byteLength(JSON.stringify(shown))).to.be.at.most(8_000);
        expect(Buffer.byteLength(JSON.stringify(tools)) / 4).to.be.at.most(2_000);
      });

      it('store and find the same over REST and JSON-RPC', async () => {
        const { result } = await memory.call('memory_store', {
          payload_md: 'By JSON-RPC',
          target_space: 'private:endpoints',
        });
        expect(result).to.deep.include({ ok: true, action: 'allow' });
        const { body } = await memory.query({ query: 'json-rpc', spaces: ['private:endpoints'] });
        expect(body.results).to.have.nested.property('[0].id', result?.memory_id);
        const found = await memory.call('memory_query', { query: 'json-rpc', spaces: ['private:endpoints'] });
        expect(found.result?.total).to.equal(1);
        expect((await memory.call('reliability_report', {})).result).to.deep.include({ ok: true, message: null });
      });

      it('find a memory in its space in the next query, and in no other space', async () => {
        const stored = await memory.store({ payload_md: 'The lantern of alice', target_space: 'private:alice' });
        expect(stored.body).to.deep.include({ ok: true, action: 'allow', space_written: 'private:alice' });
        expect(stored.body.memory_id).to.match(/^mem_[0-9a-z]{26}$/);
        const found = async (space: string) => (await memory.query({ query: 'lantern', spaces: [space] })).body.results;
        expect(await found('private:alice')).to.have.nested.property('[0].id', stored.body.memory_id);
        expect(await found('private:bob')).to.deep.equal([]);
      });

      const broken: [string, Json | readonly unknown[], string, readonly unknown[]][] = [
        ['a missing member', {}, 'MISSING_REQUIRED_PARAM', ['body', 'payload_md']],
        ['null for a required member', { payload_md: null }, 'MISSING_REQUIRED_PARAM', ['body', 'payload_md']],
        ['a wrong type', { payload_md: 5 }, 'INVALID_PARAM_TYPE', ['body', 'payload_md']],
        [
          'a wrong type inside',
          { payload_md: 'x', evidence_refs: ['a', 5] },
          'INVALID_PARAM_TYPE',
          ['body', 'evidence_refs', 1],
        ],
        ['a bad value', { payload_md: 'x', kind: 'no spaces' }, 'INVALID_PARAM_VALUE', ['body', 'kind']],
        [
          'a text that is not an integer',
          { payload_md: 'x', item_id: '5.0' },
          'INVALID_PARAM_TYPE',
          ['body', 'item_id'],
        ],
        ['a value that only the tool can check', { payload_md: ' ' }, 'INVALID_PARAM_VALUE', ['body', 'payload_md']],
        ['a list', [], 'INVALID_PARAM_TYPE', ['body']],
      ];
      for (const [what, body, reason, location] of broken) {
        it(`refuse ${what} with 422 on REST`, async () => {
          const answer = await memory.store(body);
          expect(answer.status).to.equal(422);
          expect(answer.body).to.deep.include({ ok: false, action: 'error', reason });
          const [detail] = answer.body.detail as readonly {
            readonly loc: unknown;
            readonly msg: string;
            readonly type: string;
          }[];
          expect(detail?.loc).to.deep.equal(location);
          expect(detail?.msg).to.be.a('string');
          expect(detail?.type).to.be.a('string');
          expect(answer.body.correlation_id).to.equal(answer.headers.get('x-correlation-id'));
        });
      }

      it('accept strings for booleans and integers on REST, but not over JSON-RPC', async () => {
        const answer = await memory.store({
          payload_md: 'Forms',
          target_space: 'private:forms',
          is_bulk: 'false',
          item_id: '12',
          meta_json: null,
          colour: 'red',
        });
        expect(answer.body).to.deep.include({ ok: true, warnings: ['unknown member: colour'] });
        expect((await memory.query({ query: 'x', top_k: '5' })).status).to.equal(200);
        expect((await memory.query({ query: 'x', top_k: 0 })).body.reason).to.equal('INVALID_PARAM_VALUE');
        const { error } = await memory.call('memory_query', { query: 'x', top_k: '5' });
        expect(error).to.include({ code: -32602 });
        expect(error).to.have.nested.property('data.reason', 'INVALID_PARAM_TYPE');
        expect(error).to.have.nested.property('data.details.path', '/top_k');
      });

      it('refuse over JSON-RPC what the schema cannot express', async () => {
        const { error } = await memory.call('memory_store', { payload_md: '\n', target_space: 'private:x' });
        expect(error).to.include({ code: -32602 });
        expect(error).to.have.nested.property('data.reason', 'INVALID_PARAM_VALUE');
        expect(error).to.have.nested.property('data.details.path', '/payload_md');
      });

      it('report figures that match their schema and the audit trail', async () => {
        await memory.store({ payload_md: 'Reported', target_space: 'foo:bar' });
        await memory.store({ payload_md: 'Reported', evidence: [{ uri: 'https://a', sha256: 'a'.repeat(64) }] });
        const { body } = await memory.get('/reliability/report');
        expect(Object.keys(body)).to.deep.equal([
          'ok',
          'outbox_stats',
          'audit_stats',
          'v2_evidence_stats',
          'content_intercept_stats',
          'generated_at',
          'message',
          'correlation_id',
          'memory_stats',
          'backend',
          'invariants',
        ]);
        const issues = await schemaIssues(memory, body);
        expect(issues).to.deep.equal([]);
        const { rows } = await memory.database.statement<{ n: number }>(
          'select count(*) as n from {governance.write_audit}',
        );
        const stats = body.audit_stats as Record<string, number>;
        expect(stats.total).to.equal(rows[0]?.n);
        expect((stats.allow ?? 0) + (stats.redirect ?? 0) + (stats.reject ?? 0)).to.equal(stats.total);
        expect(Object.keys(stats).slice(0, 4)).to.deep.equal(['allow', 'redirect', 'reject', 'total']);
        expect(Object.keys(body.outbox_stats as Json).slice(0, 4)).to.deep.equal(['pending', 'sent', 'dead', 'total']);
        expect(body.v2_evidence_stats).to.deep.include({ total_audits_with_v2: 1 });
        expect(body.message).to.equal(null);
      });

      it('report which invariant is violated', async () => {
        await memory.database.statement(
          `insert into {logbook.outbox_memory} (target_space, payload_md, payload_sha) values ('private:x', 'x', 'x')`,
        );
        const { body } = await memory.get('/reliability/report');
        expect(body.message).to.equal('Violated invariants: 1 (0 against 1).');
        await memory.database.statement(`delete from {logbook.outbox_memory} where target_space = 'private:x'`);
      });

      it('aggregate refusals in the audit trail, one row per second', async () => {
        const refused = Array.from({ length: 5 }, () =>
          memory.host.post('/memory/store', {}, { origin: 'http://evil.example' }),
        );
        for (const response of await Promise.all(refused)) expect(response.status).to.equal(403);
        const audit = memory.host.service('audit');
        const counts = async () => {
          const { rows } = await audit.query({ reasonPrefix: 'origin_refused:/memory' });
          return rows.reduce((sum, { evidence }) => sum + Number(evidence.count), 0);
        };
        await until('all refusals are audited', async () => (await counts()) >= 5);
        const { rows } = await audit.query({ reasonPrefix: 'origin_refused:/memory' });
        expect(await counts()).to.equal(5);
        expect(rows.length).to.be.at.most(2);
        expect(rows[0]).to.deep.include({
          action: 'reject',
          operation: 'gate',
          reason: 'origin_refused:/memory/store',
        });
      });
    },
    { keepRows: true },
  );
});

/** Violations of the published report schema. */
async function schemaIssues({ schemas }: MemoryHost, value: unknown): Promise<readonly unknown[]> {
  const file = new URL('../../../schemas/reliability_report_v1.schema.json', import.meta.url);
  const schema = JSON.parse(await readFile(file, 'utf8')) as Json;
  return schemas.compile(schema, { name: 'reliability_report_v1' }).check(value);
}
