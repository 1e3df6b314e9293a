import { expect } from 'chai';
import { answerOf, type Json, type MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { contents, results, startMemory } from './memory-host.js';

const ADMIN_KEY = 'governance-key-0123456789';

const routes: Readonly<Record<string, string>> = {
  memory_store: '/memory/store',
  memory_query: '/memory/query',
  governance_update: '/governance/settings/update',
};

type Reason = 'MISSING_REQUIRED_PARAM' | 'INVALID_PARAM_TYPE' | 'INVALID_PARAM_VALUE';

/** Valid arguments, overridden by those of the row; `undefined` removes one. */
const good: Readonly<Record<string, Json>> = {
  memory_store: { payload_md: 'Good.', target_space: 'private:bad-input' },
  memory_query: { query: 'good', spaces: ['private:bad-input'] },
  governance_update: { admin_key: ADMIN_KEY },
  evidence_upload: { content: 'good', content_type: 'text/plain' },
};

const [missing, type, value]: readonly Reason[] = [
  'MISSING_REQUIRED_PARAM',
  'INVALID_PARAM_TYPE',
  'INVALID_PARAM_VALUE',
];

const rows: readonly [tool: string, change: Json, reason: Reason | undefined, path: string][] = [
  ['memory_store', { payload_md: undefined }, missing, '/payload_md'],
  ['memory_store', { payload_md: 5 }, type, '/payload_md'],
  ['memory_store', { payload_md: '' }, value, '/payload_md'],
  ['memory_store', { payload_md: ' \n\t\u00a0\u3000' }, value, '/payload_md'],
  ['memory_store', { payload_md: 'a\u0000b' }, value, '/payload_md'],
  ['memory_store', { payload_md: 'a\ud800b' }, value, '/payload_md'],
  ['memory_store', { payload_md: 'x'.repeat(1_048_577) }, value, '/payload_md'],
  ['memory_store', { payload_md: '汉'.repeat(349_526) }, value, '/payload_md'],
  ['memory_store', { target_space: 7 }, type, '/target_space'],
  ['memory_store', { target_space: `private:${'x'.repeat(203)}` }, value, '/target_space'],
  ['memory_store', { meta_json: '{}' }, type, '/meta_json'],
  ['memory_store', { meta_json: [] }, type, '/meta_json'],
  ['memory_store', { meta_json: { text: 'x'.repeat(65_536) } }, value, '/meta_json'],
  ['memory_store', { meta_json: { 'a\u0000': 1 } }, value, '/meta_json'],
  ['memory_store', { meta_json: { a: ['\udc00'] } }, value, '/meta_json'],
  ['memory_store', { kind: 5 }, type, '/kind'],
  ['memory_store', { kind: '' }, value, '/kind'],
  ['memory_store', { kind: 'two words' }, value, '/kind'],
  ['memory_store', { kind: '1ST' }, value, '/kind'],
  ['memory_store', { kind: 'K'.repeat(65) }, value, '/kind'],
  ['memory_store', { evidence_refs: 'https://a' }, type, '/evidence_refs'],
  ['memory_store', { evidence_refs: ['a', 5] }, type, '/evidence_refs/1'],
  ['memory_store', { evidence_refs: ['a\u0000'] }, value, '/evidence_refs'],
  ['memory_store', { evidence_refs: Array.from({ length: 101 }, () => 'a') }, value, '/evidence_refs'],
  ['memory_store', { evidence: {} }, type, '/evidence'],
  ['memory_store', { evidence: ['https://a'] }, type, '/evidence/0'],
  ['memory_store', { evidence: [{ uri: 5 }] }, type, '/evidence/0/uri'],
  ['memory_store', { evidence: [{ uri: 'a', note: '\u0000' }] }, value, '/evidence'],
  ['memory_store', { evidence: Array.from({ length: 101 }, () => ({ uri: 'a' })) }, value, '/evidence'],
  ['memory_store', { is_bulk: 1 }, type, '/is_bulk'],
  ['memory_store', { is_bulk: 'yes' }, type, '/is_bulk'],
  ['memory_store', { item_id: 1.5 }, type, '/item_id'],
  ['memory_store', { item_id: 0 }, value, '/item_id'],
  ['memory_store', { item_id: 9_007_199_254_740_992 }, value, '/item_id'],
  ['memory_store', { item_id: 1e300 }, value, '/item_id'],
  ['memory_store', { actor_user_id: 5 }, type, '/actor_user_id'],
  ['memory_store', { actor_user_id: '' }, value, '/actor_user_id'],
  ['memory_store', { actor_user_id: ' alice' }, value, '/actor_user_id'],
  ['memory_store', { actor_user_id: 'al\u0007ice' }, value, '/actor_user_id'],
  ['memory_store', { actor_user_id: 'x'.repeat(129) }, value, '/actor_user_id'],

  ['memory_query', { query: undefined }, missing, '/query'],
  ['memory_query', { query: ['a'] }, type, '/query'],
  ['memory_query', { query: 'x'.repeat(8_193) }, value, '/query'],
  ['memory_query', { spaces: 'team:a' }, type, '/spaces'],
  ['memory_query', { spaces: [] }, value, '/spaces'],
  ['memory_query', { spaces: Array.from({ length: 51 }, (_, n) => `team:${n}`) }, value, '/spaces'],
  ['memory_query', { spaces: ['team:a', 5] }, type, '/spaces/1'],
  ['memory_query', { spaces: ['team:a', 'nope:b'] }, value, '/spaces/1'],
  ['memory_query', { spaces: ['private:'] }, value, '/spaces/0'],
  ['memory_query', { top_k: 5.5 }, type, '/top_k'],
  ['memory_query', { top_k: 'many' }, type, '/top_k'],
  ['memory_query', { top_k: 0 }, value, '/top_k'],
  ['memory_query', { top_k: 101 }, value, '/top_k'],
  ['memory_query', { filters: [] }, type, '/filters'],
  ['memory_query', { filters: { kind: 5 } }, type, '/filters/kind'],
  ['memory_query', { filters: { kind: ['FACT', 5] } }, type, '/filters/kind/1'],
  ['memory_query', { filters: { created_after: 'yesterday' } }, value, '/filters/created_after'],
  ['memory_query', { filters: { created_before: '2026-02-30' } }, value, '/filters/created_before'],
  ['memory_query', { filters: { created_before: '2026-01-01T25:00:00Z' } }, value, '/filters/created_before'],
  ['memory_query', { filters: { created_before: 1_767_225_600 } }, type, '/filters/created_before'],
  ['memory_query', { filters: { min_score: 1.5 } }, value, '/filters/min_score'],
  ['memory_query', { filters: { min_score: '0.5' } }, type, '/filters/min_score'],
  ['memory_query', { filters: { meta: 'a' } }, type, '/filters/meta'],
  ['memory_query', { filters: { evidence: 5 } }, type, '/filters/evidence'],
  ['memory_query', { filters: { actor_user_id: {} } }, type, '/filters/actor_user_id'],
  ['memory_query', { filters: { explain: 'yes' } }, type, '/filters/explain'],

  ['governance_update', { team_write_enabled: 'on' }, type, '/team_write_enabled'],
  ['governance_update', { policy_json: [] }, type, '/policy_json'],
  ['governance_update', { admin_key: 5 }, type, '/admin_key'],
  ['governance_update', { actor_user_id: ' a' }, value, '/actor_user_id'],
  ['governance_update', { policy_json: { max_chars: '5' } }, type, '/policy_json/max_chars'],
  ['governance_update', { policy_json: { max_chars: -1 } }, value, '/policy_json/max_chars'],
  ['governance_update', { policy_json: { allowed_kinds: 'FACT' } }, type, '/policy_json/allowed_kinds'],
  ['governance_update', { policy_json: { bulk_mode: 'long' } }, value, '/policy_json/bulk_mode'],
  ['governance_update', { policy_json: { content_guard: { secret: 'x' } } }, value, '/policy_json/content_guard'],
  ['governance_update', { policy_json: { own: 'a\u0000' } }, value, '/policy_json'],

  ['evidence_upload', { content: 5 }, type, '/content'],
  ['evidence_upload', { item_id: '5' }, type, '/item_id'],
  ['evidence_upload', { project_key: '../x' }, value, '/project_key'],
  ['evidence_upload', { actor_user_id: ' a' }, value, '/actor_user_id'],
];

/** `/filters/kind/1` as REST names it. */
const location = (path: string) =>
  ['body', ...path.slice(1).split('/')].map((part) => (/^\d+$/.test(part) ? Number(part) : part));

/** The answer to a tool call of the stateless protocol revision. */
async function statelessResult({ host }: MemoryHost, name: string, args: Json): Promise<Json> {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const method = 'tools/call';
  const body = { jsonrpc: '2.0', id: 1, method, params: { name, arguments: args, _meta } };
  const headers = { 'mcp-protocol-version': version, 'mcp-method': method, 'mcp-name': name };
  return (await answerOf(await host.post('/mcp', body, headers))).body.result as Json;
}

/** `details` of a JSON-RPC error. */
function detailsOf(error: Json | undefined): Json {
  const data = error?.data as Json | undefined;
  return data?.details as Json;
}

describe('bad input', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine, { env: { GOVERNANCE_ADMIN_KEY: ADMIN_KEY } });
      });
      after(() => memory.stop());

      const tables = ['logbook.memories', 'logbook.items', 'governance.write_audit'];
      const kept = () => Promise.all(tables.map((table) => memory.count(table)));

      for (const [tool, change, reason, path] of rows) {
        const shown = JSON.stringify(change, (_, one) => one ?? 'nothing').slice(0, 80);
        it(`is refused by ${tool} at ${path}: ${shown}`, async () => {
          const before = await kept();
          const args = { ...good[tool], ...change };
          const { error } = await memory.call(tool, args);
          expect(error).to.include({ code: -32602 });
          expect(error?.data).to.deep.include({ category: 'validation', reason, retryable: false });
          const details = detailsOf(error);
          expect(details).to.deep.include({ tool, path });
          expect(details.expected).to.satisfy((expected: unknown) => expected !== undefined && expected !== '');
          expect((details.errors as readonly Json[])[0]).to.deep.include({ path, reason });

          const result = await statelessResult(memory, tool, args);
          expect(result).to.deep.include({ resultType: 'complete', isError: true });
          const reported = result.structuredContent as Json;
          expect(JSON.parse((result.content as readonly { text: string }[])[0]?.text ?? '')).to.deep.equal(reported);
          const { data, ...codeAndMessage } = error as Json & { data: Json };
          const { correlation_id: _, ...same } = data;
          expect(reported).to.deep.include({ ok: false, ...codeAndMessage, ...same });

          const route = routes[tool];
          if (route !== undefined) {
            const answer = await answerOf(await memory.host.post(route, args));
            expect(answer.status).to.equal(422);
            expect(answer.body).to.deep.include({ ok: false, reason });
            expect(answer.body.action).to.equal(tool === 'memory_store' ? 'error' : undefined);
            const [first] = answer.body.detail as readonly Json[];
            expect(first?.loc).to.deep.equal(location(path));
          }

          const legacy = await answerOf(await memory.host.post('/mcp', { tool, arguments: args }));
          expect(legacy.status).to.equal(200);
          expect(legacy.body).to.deep.include({ ok: false, reason, result: null });
          expect(legacy.body.details).to.deep.include({ path });
          expect(await kept()).to.deep.equal(before);
        });
      }

      it('is reported completely, up to ten violations of one call', async () => {
        const many = { payload_md: 5, meta_json: 'x', kind: 5, is_bulk: 'x', evidence_refs: [1, 2, 3, 4, 5, 6, 7, 8] };
        const { error } = await memory.call('memory_store', many);
        const errors = detailsOf(error).errors as readonly Json[];
        expect(errors).to.have.length(10);
        expect(errors.map(({ path }) => path)).to.include.members(['/payload_md', '/meta_json', '/kind']);
        expect(String(error?.message).length).to.be.below(300);
      });

      const hostile: readonly Json[] = [
        { kind: "FACT' or 1=1 --" },
        { kind: ['%', '_', 'a\u0000', '\ud800'] },
        { evidence: "%' or '1'='1" },
        { evidence: '\u0000' },
        { actor_user_id: "x'; delete from logbook.memories where true; --" },
        { actor_user_id: '\u0000\ud800' },
        { meta: { "a'->>'b": 1, 'x"]': '\u0000' } },
        { meta: { deep: { er: [1, { a: null }] } } },
        { created_after: '0001-01-01', created_before: '0001-01-02' },
        { created_before: '9999-12-31T23:59:59.999999999+14:00', kind: 'none' },
      ];

      it('in a filter finds nothing, and causes no error', async () => {
        await memory.store({ payload_md: 'Hidden by its filter.', target_space: 'private:filters', kind: 'FACT' });
        for (const query of ['hidden', '']) {
          for (const filters of hostile) {
            const answer = await memory.query({ query, spaces: ['private:filters'], filters });
            expect(answer.status, JSON.stringify(filters)).to.equal(200);
            expect(answer.body, JSON.stringify(filters)).to.deep.include({ ok: true, degraded: false, results: [] });
          }
        }
        const unknown = { $where: 'sleep(1)', ['__proto__']: { kind: 'FACT' }, kind: 'FACT' };
        const { body } = await memory.query({ query: 'hidden', spaces: ['private:filters'], filters: unknown });
        expect(body).to.deep.include({ ok: true, total: 1 });
        expect(body.warnings).to.include('unknown filter: $where');
        expect(await memory.count('logbook.memories')).to.be.at.least(1);
      });

      it('in a query is only text, with the backend and without it', async () => {
        const texts = ['100% sure', '1000 sure', 'snake_case', 'snakeXcase', 'back\\slash'];
        for (const payload_md of texts) await memory.store({ payload_md, target_space: 'private:wild' });
        const ask = (query: string) => memory.query({ query, spaces: ['private:wild'], top_k: 100 });
        const odd = [
          '%',
          '_',
          '\\',
          "'",
          '"',
          '*',
          'a:b',
          'NEAR(',
          '-',
          '(',
          '\u0000',
          '\ud800',
          '🙂',
          ';--',
          '&|!<->',
        ];
        for (const query of odd) expect((await ask(query)).body, query).to.deep.include({ ok: true, degraded: false });
        // Memories that wait for the backend are searched as plain text.
        await memory.database.statement(
          `update {logbook.memories} set state = 'queued', backend_memory_id = null where space = 'private:wild'`,
        );
        for (const query of odd) expect((await ask(query)).body, query).to.deep.include({ ok: true, degraded: false });
        expect(contents(await ask('%'))).to.deep.equal(['100% sure']);
        expect(contents(await ask('0%'))).to.include('100% sure');
        expect(contents(await ask('_'))).to.deep.equal(['snake_case']);
        expect(contents(await ask('e_c'))).to.deep.equal(['snake_case']);
        expect(contents(await ask('\\'))).to.deep.equal(['back\\slash']);
      });

      it('of ten megabytes is refused before it is read', async () => {
        const text = 'x'.repeat(10 * 1_048_576);
        const rest = await answerOf(await memory.host.post('/memory/store', { payload_md: text }));
        expect(rest.status).to.equal(413);
        expect(rest.body).to.include({ ok: false, reason: 'PAYLOAD_TOO_LARGE' }).and.have.property('detail');
        const mcp = await answerOf(
          await memory.host.post('/mcp', { tool: 'memory_store', arguments: { payload_md: text } }),
        );
        expect(mcp.status).to.equal(413);
        expect(mcp.headers.get('access-control-allow-origin')).to.equal('*');
        expect((await memory.get('/health')).status).to.equal(200);
      });

      it('that is a property name of objects is treated as data', async () => {
        const meta = '{"__proto__":{"polluted":true},"constructor":1,"toString":null}';
        const body = `{"payload_md":"Prototypes.","target_space":"private:data","meta_json":${meta}}`;
        const headers = { 'content-type': 'application/json' };
        await memory.host.fetch('/memory/store', { method: 'POST', headers, body });
        const [item] = results(await memory.query({ query: 'prototypes', spaces: ['private:data'] }));
        expect(JSON.stringify(item?.meta)).to.contain('"__proto__":{"polluted":true}').and.contain('"constructor":1');
        expect({}).not.to.have.property('polluted');
      });
    },
    { keepRows: true },
  );
});
