import { expect } from 'chai';
import { answerOf, type Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { type RemoteMemory, startRemoteMemory } from './remote-memory.js';

const CONCURRENCY = 32;
const tools = ['memory_store', 'memory_query', 'reliability_report', 'governance_update', 'evidence_upload'];

/** Paths that must answer while the backend hangs, and a check of each body. */
const others: readonly [path: string, holds: (body: Json) => boolean][] = [
  ['/healthz', ({ ok }) => ok === true],
  ['/version', ({ version }) => typeof version === 'string'],
  ['/ready', ({ ready }) => ready === true],
  ['/health', ({ status }) => status === 'ok'],
  ['/chats', (body) => Array.isArray(body) || typeof body === 'object'],
  ['/reliability/report', ({ ok }) => ok === true],
  ['/memory/audit?limit=1', ({ ok }) => ok === true],
  ['/memory/outbox', ({ ok }) => ok === true],
  ['/admin/plugins', ({ plugins }) => Array.isArray(plugins)],
];

describe('a memory backend that never answers', () => {
  eachDatabase((engine) => {
    let memory: RemoteMemory;
    before(async () => {
      const limits = { MORTISE_OPENMEMORY_TIMEOUT_MS: '25000', MORTISE_OPENMEMORY_QUERY_TIMEOUT_MS: '25000' };
      memory = await startRemoteMemory(engine, { env: limits }, ['admin', 'sessions', 'conversation']);
    });
    after(() => memory.stop());

    it('does not delay other requests', async () => {
      for (const call of ['add', 'search'] as const) memory.server.failAlways(call, { kind: 'hang' });
      let answered = 0;
      const waiting = Array.from({ length: CONCURRENCY }, (_, n) => [
        memory.store({ payload_md: `Hanging ${n}.`, target_space: 'private:a' }),
        memory.query({ query: `hanging ${n}`, spaces: ['private:a'] }),
      ]).flat();
      for (const one of waiting) void one.then(() => (answered += 1));
      const arrived = (call: string) => memory.server.requests.filter((request) => request.call === call).length;
      await until(() => arrived('add') === CONCURRENCY && arrived('search') === CONCURRENCY);

      for (let round = 0; round < 3; round += 1) {
        for (const [path, holds] of others) {
          const answer = await answerOf(await memory.host.fetch(path));
          expect(answer.status, path).to.equal(200);
          expect(holds(answer.body), path).to.equal(true);
        }
        const list = await memory.host.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
        const { result } = (await list.json()) as { readonly result: { readonly tools: readonly { name: string }[] } };
        expect(result.tools.map(({ name }) => name)).to.deep.equal(tools);
        const { error } = await memory.call('memory_store', {});
        expect(error).to.have.nested.property('data.reason', 'MISSING_REQUIRED_PARAM');
        const refused = await memory.store({ payload_md: 'Nowhere.', target_space: 'foo:bar' });
        expect(refused.body.action).to.equal('reject');
        const uploaded = await memory.call('evidence_upload', {
          content: `Round ${round}`,
          content_type: 'text/plain',
        });
        expect(uploaded.result?.ok).to.equal(true);
      }
      expect(answered, 'the backend hangs throughout').to.equal(0);

      await memory.server.stop();
      const answers = await Promise.all(waiting);
      const stores = answers.filter((_, index) => index % 2 === 0);
      for (const { body } of stores) expect(body).to.deep.include({ ok: false, outbox_status: 'pending' });
      expect(await memory.count('logbook.outbox_memory')).to.equal(CONCURRENCY);
      for (const { body } of answers.filter((_, index) => index % 2 === 1))
        expect(body).to.deep.include({ ok: true, degraded: true });
      expect((await memory.get('/reliability/report')).body.message).to.equal(null);
    });
  });
});
