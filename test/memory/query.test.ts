import { expect } from 'chai';
import type { Json, MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { contents, results, startMemory } from './memory-host.js';

describe('querying memories', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine);
      });
      after(() => memory.stop());

      const keep = (space: string, ...texts: string[]) =>
        Promise.all(texts.map((payload_md) => memory.store({ payload_md, target_space: space })));

      it('returns every member', async () => {
        const stored = await memory.store({
          payload_md: 'The harbour opens at six',
          target_space: 'private:members',
          kind: 'FACT',
          meta_json: { a: 1 },
          evidence_refs: ['https://a'],
        });
        const answer = await memory.query({ query: 'harbour', spaces: ['private:members', 'private:members'] });
        expect(Object.keys(answer.body)).to.deep.equal([
          'ok',
          'results',
          'total',
          'spaces_searched',
          'message',
          'degraded',
          'correlation_id',
        ]);
        expect(answer.body).to.deep.include({
          ok: true,
          total: 1,
          degraded: false,
          spaces_searched: ['private:members'],
        });
        const [item] = results(answer);
        expect(item).to.deep.include({
          id: stored.body.memory_id,
          content: 'The harbour opens at six',
          space: 'private:members',
          kind: 'FACT',
          meta: { a: 1 },
          evidence_refs: ['https://a'],
          source: 'backend',
        });
        expect(item?.score).to.be.within(0.01, 1);
        expect(Date.parse(String(item?.created_at))).to.be.closeTo(Date.now(), 60_000);
      });

      it('returns the newest memories for an empty query', async () => {
        await keep('private:newest', 'first');
        await keep('private:newest', 'second');
        const answer = await memory.query({ query: ' ', spaces: ['private:newest'], top_k: 1 });
        expect(results(answer)).to.have.length(1);
        expect(results(answer)[0]).to.deep.include({ content: 'second', score: 0, source: 'ledger' });
      });

      it('points to the caller’s private space when a shared space has no match', async () => {
        await memory.store({ payload_md: 'A misplaced lighthouse' });
        const { body } = await memory.query({ query: 'lighthouse' });
        expect(body).to.deep.include({ total: 0 });
        expect(body.message).to.equal('Nothing matches in team:default, but private:unknown has 1 matching memory.');
      });

      it('applies every filter', async () => {
        const space = 'private:filters';
        const store = (text: string, more: Json) => memory.store({ payload_md: text, target_space: space, ...more });
        await store('filter one', { kind: 'FACT', meta_json: { a: { b: [1, 2] } }, evidence_refs: ['https://x/1'] });
        await memory.host.service('logbook').users.add('walter');
        await store('filter two', { kind: 'DECISION', actor_user_id: 'walter' });
        const found = async (filters: Json) =>
          contents(await memory.query({ query: 'filter', spaces: [space], filters })).toSorted();
        expect(await found({})).to.deep.equal(['filter one', 'filter two']);
        expect(await found({ kind: 'FACT' })).to.deep.equal(['filter one']);
        expect(await found({ kind: ['DECISION', 'X'] })).to.deep.equal(['filter two']);
        expect(await found({ meta: { a: { b: [1, 2] } } })).to.deep.equal(['filter one']);
        expect(await found({ meta: { a: { b: [1] } } })).to.deep.equal([]);
        expect(await found({ evidence: 'x/1' })).to.deep.equal(['filter one']);
        expect(await found({ evidence: '%' })).to.deep.equal([]);
        expect(await found({ actor_user_id: 'walter' })).to.deep.equal(['filter two']);
        expect(await found({ created_after: '2999-01-01' })).to.deep.equal([]);
        expect(await found({ created_before: '2999-01-01T00:00:00Z' })).to.have.length(2);
        expect(await found({ min_score: 1 })).to.deep.equal([]);
        const blank = await memory.query({ query: '', spaces: [space], filters: { kind: 'FACT' } });
        expect(contents(blank)).to.deep.equal(['filter one']);
      });

      it('warns of unknown filters', async () => {
        const { body } = await memory.query({ query: 'x', filters: { colour: 'red' } });
        expect(body.warnings).to.deep.equal(['unknown filter: colour']);
      });

      it('explains a score so that it can be recomputed', async () => {
        await keep('private:explain', 'The quick brown fox', 'A brown bear and a quick hare');
        const answer = await memory.query({
          query: 'quick brown',
          spaces: ['private:explain'],
          filters: { explain: true },
        });
        expect(results(answer)).to.have.length(2);
        for (const { score, explain } of results(answer)) {
          const { bm25, coverage, phrase, matched_terms } = explain as Record<string, number> & {
            matched_terms: string[];
          };
          expect(0.65 * (bm25 ?? 0) + 0.25 * (coverage ?? 0) + 0.1 * (phrase ?? 0)).to.be.closeTo(Number(score), 1e-6);
          expect(matched_terms).to.include.members(['quick', 'brown']);
        }
      });

      it('finds memories that wait for the backend', async () => {
        const [stored] = await keep('private:pending', 'A patient heron 100%_sure');
        await memory.database.statement(`update {logbook.memories} set state = 'queued' where backend_memory_id = ?`, [
          String(stored?.body.memory_id),
        ]);
        await memory.database.statement('update {logbook.memories} set backend_memory_id = null where space = ?', [
          'private:pending',
        ]);
        const answer = await memory.query({ query: 'HERON', spaces: ['private:pending'] });
        expect(results(answer)).to.have.length(1);
        expect(results(answer)[0]).to.deep.include({
          source: 'pending',
          score: 1,
          content: 'A patient heron 100%_sure',
        });
        const literal = async (query: string) =>
          results(await memory.query({ query, spaces: ['private:pending'] })).filter(({ score }) => score === 1).length;
        expect(await literal('100%_sure')).to.equal(1);
        expect(await literal('100__sure')).to.equal(0);
        expect(await literal('%')).to.equal(1);
        expect(await literal('\\')).to.equal(0);
      });

      it('refuses a space of unknown type, and schema violations', async () => {
        const space = await memory.query({ query: 'x', spaces: ['team:a', 'nope:b'] });
        expect(space.status).to.equal(422);
        expect(space.body).to.deep.include({ ok: false, reason: 'INVALID_PARAM_VALUE' });
        expect(space.body.detail).to.have.nested.property('[0].loc').that.deep.equals(['body', 'spaces', 1]);
      });
    },
    { keepRows: true },
  );
});
