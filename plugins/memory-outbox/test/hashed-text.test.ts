import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { type OutboxHost, startOutbox } from './outbox-host.js';

const hashed = { MORTISE_LEDGER: 'hash' };
const text = 'The harbour opens at five.';

describe('an outbox that keeps no text of what was delivered', () => {
  eachDatabase((engine: TestEngine) => {
    let folder: string;
    let outbox: OutboxHost;

    const start = async (env: Readonly<Record<string, string>>) => {
      outbox = await startOutbox(engine, { env: { ...hashed, ...env }, dataDir: folder });
    };

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'mortise-hashed-'));
      await start({});
    });
    afterEach(async () => {
      await outbox.stop();
      await rm(folder, { recursive: true, force: true });
    });

    it('removes it with the acknowledgement, and only then', async () => {
      const id = await outbox.queue(text);
      const waiting = await outbox.outboxRow(id);
      expect(waiting).to.deep.include({ status: 'pending', payload: text });
      await outbox.due(id);
      expect(await outbox.deliver()).to.deep.include({ exitCode: 0 });
      expect(await outbox.outboxRow(id)).to.deep.include({
        status: 'sent',
        payload: '',
        payloadSha: waiting.payloadSha,
      });
      expect(await outbox.count('logbook.memories', `state = 'active' and payload_md is null`)).to.equal(1);
      expect(outbox.server.journal[0]?.content).to.equal(text);
      await outbox.expectInvariants();
    });

    it('still knows a repeat and finds the memory', async () => {
      const id = await outbox.queue(text);
      await outbox.due(id);
      await outbox.deliver();
      const { memoryId } = await outbox.outboxRow(id);
      expect(await outbox.store(text)).to.deep.include({ ok: true, dedup: true, memory_id: memoryId });
      const found = await outbox.host.post('/memory/query', { query: 'harbour', spaces: ['private:a'] });
      const { results } = (await found.json()) as { results: readonly object[] };
      expect(results[0]).to.deep.include({ id: memoryId, content: text });
      const shown = await outbox.run('memory-outbox', ['show', String(id)]);
      expect(shown).to.deep.include({ exitCode: 0 });
      expect(JSON.stringify(shown)).to.not.contain('harbour');
    });

    it('keeps what goes to the local backend, which has it nowhere else', async () => {
      const id = await outbox.queue(text);
      await outbox.stop();
      await start({ MORTISE_MEMORY_BACKEND: 'local' });
      await outbox.due(id);
      expect(await outbox.deliver()).to.deep.include({ exitCode: 0 });
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'sent', payload: text });
      const found = await outbox.host.post('/memory/query', { query: 'harbour', spaces: ['private:a'] });
      const { results } = (await found.json()) as { results: readonly object[] };
      expect(results[0]).to.deep.include({ content: text });
    });
  });
});
