import { expect } from 'chai';
import { answerOf, type Json, type MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { memoryPlugins, results, startMemory } from './memory-host.js';

const KEY = 'the-one-key-0123456789';
const keys = [
  { key: 'alice-key-0123456789', id: 'alice-key', actor: 'alice' },
  { key: 'ci-key-0123456789abc', id: 'ci', spaces: ['private:ci', 'team:ci-*'] },
];
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

const guarded: readonly [method: string, path: string][] = [
  ['POST', '/memory/store'],
  ['POST', '/memory/query'],
  ['GET', '/reliability/report'],
  ['POST', '/governance/settings/update'],
  ['GET', '/memory/audit'],
  ['GET', '/memory/outbox'],
  ['POST', '/memory/outbox/1/retry'],
  ['POST', '/mcp'],
  ['GET', '/mcp'],
  ['DELETE', '/mcp'],
];

describe('a server with a key', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        const plugins = [...memoryPlugins, 'memory-outbox'];
        memory = await startMemory(engine, { plugins, env: { MORTISE_API_KEY: KEY } });
      });
      after(() => memory.stop());

      const ask = (method: string, path: string, headers: Readonly<Record<string, string>>) =>
        memory.host.fetch(path, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) });

      for (const [method, path] of guarded) {
        it(`refuses ${method} ${path} without the key, with a wrong one and with half of it`, async () => {
          const tries: readonly Readonly<Record<string, string>>[] = [
            {},
            bearer('wrong'),
            bearer(KEY.slice(0, -1)),
            { 'x-api-key': `${KEY}x` },
            { authorization: KEY },
          ];
          for (const headers of tries) {
            const answer = await answerOf(await ask(method, path, { 'content-type': 'application/json', ...headers }));
            expect(answer.status, JSON.stringify(headers)).to.equal(401);
            expect(answer.headers.get('www-authenticate')).to.equal('Bearer realm="mortise"');
            expect(answer.headers.get('access-control-allow-origin')).to.equal(path === '/mcp' ? '*' : null);
            expect(answer.body).to.deep.include({ ok: false, reason: 'AUTH_FAILED', detail: answer.body.error });
            expect(JSON.stringify(answer.body)).not.to.contain(KEY.slice(0, 8));
          }
        });
      }

      it('stores nothing for callers without the key', async () => {
        const args = { payload_md: 'Without a key.', target_space: 'private:a' };
        const endpoints: readonly (readonly [path: string, body: Json])[] = [
          ['/memory/store', args],
          ['/mcp', { tool: 'memory_store', arguments: args }],
        ];
        for (const [path, body] of endpoints) {
          for (const headers of [{}, bearer('wrong')]) {
            expect((await memory.host.post(path, body, headers)).status).to.equal(401);
          }
        }
        expect(await memory.count('logbook.memories')).to.equal(0);
        expect((await memory.host.post('/memory/store', args, bearer(KEY))).status).to.equal(200);
        expect(await memory.count('logbook.memories')).to.equal(1);
      });

      it('accepts the key in either header, with the scheme in any case', async () => {
        for (const headers of [bearer(KEY), { authorization: `bEARER ${KEY}` }, { 'x-api-key': KEY }]) {
          expect((await ask('GET', '/reliability/report', headers)).status).to.equal(200);
        }
      });

      it('does not require the key for health and preflight requests', async () => {
        expect((await ask('GET', '/health', {})).status).to.equal(200);
        expect((await ask('GET', '/health?deep=1', {})).status).to.equal(200);
        const preflight = await ask('OPTIONS', '/mcp', { 'access-control-request-method': 'POST' });
        expect([preflight.status, await preflight.text()]).to.deep.equal([204, '']);
        expect((await ask('GET', '/.well-known/oauth-authorization-server', {})).status).to.equal(404);
      });
    },
    { keepRows: true },
  );
});

describe('bound keys', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine, { env: { MORTISE_API_KEYS: JSON.stringify(keys) } });
        const { settings } = memory.host.service('logbook');
        const policy = { require_evidence: false };
        await settings.update('default', { teamWriteEnabled: true, policy }, { updatedBy: 'test' });
        const store = (body: Json, key: string) => memory.host.post('/memory/store', body, bearer(key));
        await store({ payload_md: 'The walrus of alice.', target_space: 'private:alice' }, 'alice-key-0123456789');
        await store({ payload_md: 'The walrus of all.', target_space: 'team:default' }, 'alice-key-0123456789');
        await store({ payload_md: 'The walrus of ci.', target_space: 'private:ci' }, 'ci-key-0123456789abc');
        await store({ payload_md: 'The walrus of the build.', target_space: 'team:ci-1' }, 'ci-key-0123456789abc');
      });
      after(() => memory.stop());

      const read = async (key: string, spaces: readonly string[], query: string) => {
        const answer = await answerOf(await memory.host.post('/memory/query', { query, spaces }, bearer(key)));
        return answer.body.ok === true ? results(answer).map(({ space }) => space) : answer.body.reason;
      };
      const spaces = ['private:alice', 'private:ci', 'private:unknown', 'team:default', 'team:ci-1', 'org:all'];
      const readable: Readonly<Record<string, readonly string[]>> = {
        'alice-key-0123456789': ['private:alice', 'team:default', 'team:ci-1', 'org:all'],
        'ci-key-0123456789abc': ['private:ci', 'team:ci-1'],
      };

      for (const { key, id } of keys) {
        it(`allow ${id} only its spaces, on every endpoint`, async () => {
          for (const query of ['walrus', '', '"walrus"', '%']) {
            for (const space of spaces) {
              const found = await read(key, [space], query);
              if (readable[key]?.includes(space)) {
                expect(found, `${space} ${query}`).to.satisfy(
                  (all: unknown) => Array.isArray(all) && all.every((one) => one === space),
                );
              } else expect(found, `${space} ${query}`).to.equal('space_forbidden');
            }
          }
          const all = (readable[key] ?? []).filter((space) => space !== 'org:all');
          expect(await read(key, all, 'walrus')).to.have.members(all);
          expect(await read(key, ['team:ci-1', 'private:bob'], 'walrus')).to.equal('space_forbidden');
        });
      }

      it('are not redirected to a space that they may not use', async () => {
        const { settings } = memory.host.service('logbook');
        const policy = { require_evidence: false };
        await settings.update('default', { teamWriteEnabled: false, policy }, { updatedBy: 'test' });
        try {
          const planted = { payload_md: 'The walrus of alice.', target_space: 'team:ci-1', actor_user_id: 'alice' };
          const before = await memory.count('logbook.memories');
          const answer = await answerOf(
            await memory.host.post('/memory/store', planted, bearer('ci-key-0123456789abc')),
          );
          expect(answer.body).to.deep.include({ ok: false, action: 'reject', reason: 'space_forbidden' });
          expect(answer.body).to.include({ space_written: null, memory_id: null });
          expect(await memory.count('logbook.memories')).to.equal(before);
          const own = { payload_md: 'The seal of alice.', target_space: 'team:default' };
          const redirected = await answerOf(
            await memory.host.post('/memory/store', own, bearer('alice-key-0123456789')),
          );
          expect(redirected.body).to.include({ action: 'redirect', space_written: 'private:alice' });
        } finally {
          await settings.update('default', { teamWriteEnabled: true, policy }, { updatedBy: 'test' });
        }
      });

      it('write where they may read, only under their own actor, on every endpoint', async () => {
        const refused: readonly [args: Json, reason: string, code: string][] = [
          [{ payload_md: 'x', target_space: 'private:bob' }, 'space_forbidden', 'SPACE_FORBIDDEN'],
          [
            { payload_md: 'x', target_space: 'private:alice', actor_user_id: 'bob' },
            'actor_mismatch',
            'ACTOR_MISMATCH',
          ],
          [{ payload_md: 'x', target_space: 'private:Alice' }, 'space_forbidden', 'SPACE_FORBIDDEN'],
          [{ payload_md: 'x', target_space: 'private:alice/../bob' }, 'space_forbidden', 'SPACE_FORBIDDEN'],
        ];
        const headers = bearer('alice-key-0123456789');
        const before = await memory.count('logbook.memories');
        const rejects = () =>
          memory.count('governance.write_audit', `action = 'reject' and operation = 'memory_store'`);
        const rejected = await rejects();
        for (const [args, reason, code] of refused) {
          const rest = await answerOf(await memory.host.post('/memory/store', args, headers));
          expect(rest.status).to.equal(200);
          expect(rest.body).to.deep.include({ ok: false, action: 'reject', reason });
          const params = { name: 'memory_store', arguments: args };
          const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
          const rpc = await answerOf(await memory.host.post('/mcp', body, headers));
          expect(rpc.body.error).to.deep.include({ code: -32002 });
          expect(rpc.body.error).to.have.nested.property('data.reason', code);
          const legacy = await answerOf(
            await memory.host.post('/mcp', { tool: 'memory_store', arguments: args }, headers),
          );
          expect(legacy.body).to.deep.include({ ok: false, reason: code });
        }
        expect(await memory.count('logbook.memories')).to.equal(before);
        expect((await rejects()) - rejected).to.equal(refused.length * 3);
      });
    },
    { keepRows: true },
  );
});
