import { expect } from 'chai';
import type { RemoteMemoryOptions } from 'mortise/contracts/memory-gateway/testing';
import { MortiseError } from 'mortise/sdk';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import type { BackendCheck } from '../backend/check-backend.js';
import { type ReconcileHost, startReconcile } from './reconcile-host.js';

describe('comparing the ledger with the backend', () => {
  eachDatabase((engine: TestEngine) => {
    let books: ReconcileHost;

    const start = async (options?: RemoteMemoryOptions) => {
      books = await startReconcile(engine, options);
    };
    afterEach(() => books.stop());

    const check = async (options = {}) => {
      const { exitCode, data, text } = await books.reconcile({ report: true, checkBackend: true, ...options });
      return { exitCode, text, ...(data as { backend: BackendCheck }).backend };
    };
    const change = (id: string, change: object) => {
      const memory = books.server.memories.get(id);
      books.server.lose(id);
      books.server.put({ content: '', ...memory, ...change, id });
    };

    for (const dialect of ['query', 'search'] as const) {
      it(`names every difference, in the dialect ${dialect}`, async () => {
        await start({ fake: { dialect } });
        for (const text of ['Missing', 'Altered', 'Merged', 'Other', 'Moved', 'Fine']) await books.store(text);
        books.server.lose('om-1');
        change('om-2', { content: 'Not what it was' });
        change('om-3', { content: 'Other' });
        const metadata = { ...books.server.memories.get('om-5')?.metadata, space: 'team:b' };
        change('om-5', { metadata });
        books.server.put({ content: 'Whose?', metadata: { mortise_key: 'mk_unknown', space: 'private:a' } });
        books.server.put({ content: 'Not ours.' });
        const found = await check();
        expect(found.exitCode).to.equal(1);
        const kinds = found.findings.map(({ finding, backend_id }) => `${finding} ${backend_id}`).sort();
        const extra = dialect === 'query' ? 1 : 0; // Only a listing shows rows that no query asked for.
        expect(kinds.filter((kind) => !kind.startsWith('extra'))).to.deep.equal([
          'altered om-2',
          'merged om-3',
          'missing om-1',
          'moved om-5',
        ]);
        expect(found).to.deep.include({ checked: 6, missing: 1, altered: 1, merged: 1, moved: 1, extra });
        expect(found.text.split('\n')[5]).to.equal(
          `  - backend: 6 checked (missing: 1, merged: 1, altered: 1, moved: 1, extra: ${extra})`,
        );
        expect(found.findings.find(({ finding }) => finding === 'missing')).to.deep.include({
          backend_id: 'om-1',
          space: 'private:a',
          actual_sha: null,
        });
      });
    }

    it('sends again what is missing or altered, also when it came through the outbox', async () => {
      await start();
      books.server.fail('add', { kind: 'success-false' });
      const { outbox_id } = await books.store('Came late');
      await books.deliver();
      await books.store('Altered');
      const [late] = [...books.server.memories.keys()];
      books.server.lose(late ?? '');
      change('om-2', { content: 'Not what it was' });
      const { exitCode, repaired } = await check({ report: undefined, once: true, repairBackend: true });
      expect({ exitCode, repaired }).to.deep.equal({ exitCode: 0, repaired: 2 });
      expect(await books.count('logbook.memories', `state = 'queued'`)).to.equal(2);
      expect(await books.count('governance.write_audit', `reason like 'OPENMEMORY_CONTENT_%'`)).to.equal(2);
      expect(await books.deliver()).to.deep.include({ exitCode: 0 });
      expect([...books.server.memories.values()].map(({ content }) => content)).to.include.members([
        'Came late',
        'Altered',
      ]);
      expect(await check()).to.deep.include({ exitCode: 0, missing: 0, altered: 0 });
      expect(Number(outbox_id)).to.be.above(0);
      const { invariants } = await books.host.service('logbook').reliability.figures();
      expect(invariants.filter(({ ok }) => !ok)).to.deep.equal([]);
    });

    describe('where only hashes are kept', () => {
      const repair = () => check({ report: undefined, once: true, repairBackend: true });
      const lost = `action = 'reject' and reason like 'OPENMEMORY_CONTENT_%'`;
      const isWell = async () => (await books.host.service('logbook').reliability.figures()).invariants;

      it('does not send what it does not have, and sends it again once it has it', async () => {
        await start({ env: { MORTISE_LEDGER: 'hash' } });
        for (const text of ['Missing', 'Altered', 'Fine']) await books.store(text);
        books.server.lose('om-1');
        change('om-2', { content: 'Not what it was' });
        expect(await books.store('Missing')).to.deep.include({ ok: true, dedup: true });
        expect(await check()).to.deep.include({ exitCode: 1, missing: 1, altered: 1 });
        expect(await books.count('governance.write_audit', lost)).to.equal(0);
        expect(await repair()).to.deep.include({ exitCode: 1, missing: 1, altered: 1, repaired: 0 });
        expect(await books.count('governance.write_audit', lost)).to.equal(2);
        expect(await repair()).to.deep.include({ exitCode: 0, checked: 1 });
        for (const text of ['Missing', 'Altered']) {
          expect(await books.store(text)).to.deep.include({ ok: true, action: 'allow', dedup: false });
        }
        expect(await books.store('Fine')).to.deep.include({ dedup: true });
        expect([...books.server.memories.values()].map(({ content }) => content)).to.include('Missing');
        expect(await check()).to.deep.include({ exitCode: 0, checked: 3 });
        expect((await isWell()).filter(({ ok }) => !ok)).to.deep.equal([]);
      });

      it('sends it through the outbox too, regardless of earlier rows', async () => {
        await start({ env: { MORTISE_LEDGER: 'hash' } });
        const storeLate = async () => {
          books.server.fail('add', { kind: 'success-false' });
          expect(await books.store('Late')).to.deep.include({ outbox_status: 'pending' });
          await books.deliver();
        };
        await storeLate();
        for (const id of books.server.memories.keys()) books.server.lose(id);
        await repair();
        await storeLate();
        expect([...books.server.memories.values()].map(({ content }) => content)).to.deep.equal(['Late']);
        expect((await isWell()).filter(({ ok }) => !ok)).to.deep.equal([]);
      });
    });

    it('changes nothing in report mode', async () => {
      await start();
      await books.store('Missing');
      books.server.lose('om-1');
      expect(await check({ repairBackend: true })).to.deep.include({ exitCode: 1, repaired: 0 });
      expect(await books.count('logbook.outbox_memory')).to.equal(0);
    });

    it('throws what the backend fails with', async () => {
      await start();
      await books.store('Fine');
      await books.server.stop();
      const failed = books.reconcile({ report: true, checkBackend: true });
      const { code, message } = await failed.then(
        () => new MortiseError('none', 'It did not fail.'),
        (error: MortiseError) => error,
      );
      expect(code).to.equal('backend_unavailable');
      expect(message).to.contain('OpenMemory connection failed');
    });

    it('checks the text and the search row of the local backend', async () => {
      await start({ env: { MORTISE_MEMORY_BACKEND: 'local' } });
      for (const text of ['Missing', 'Altered', 'Fine']) await books.store(text);
      expect(await check()).to.deep.include({ exitCode: 0, checked: 3 });
      await books.update(`update {logbook.memories} set payload_md = 'changed' where payload_md = 'Altered'`);
      await books.update(
        `delete from {logbook.memory_documents} where memory_id =
           (select backend_memory_id from {logbook.memories} where payload_md = 'Missing')`,
      );
      expect(await check()).to.deep.include({ exitCode: 1, missing: 1, altered: 1 });
      // A text that was changed in the ledger itself cannot be had back; a search row can.
      expect(await check({ report: undefined, once: true, repairBackend: true })).to.deep.include({ repaired: 1 });
      await books.deliver();
      expect(await check()).to.deep.include({ missing: 0, altered: 1 });
    });
  });
});
