import { expect } from 'chai';
import type { Answer, Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { type FakeBackend, unreachable } from './fake-backend.js';
import { type GatewayHost, startGateway } from './gateway-host.js';

const results = ({ body }: Answer) => body.results as readonly Json[];
const contents = (answer: Answer) => results(answer).map(({ content }) => content);

describe('the memory backend', () => {
  eachDatabase(
    (engine) => {
      let gateway: GatewayHost;
      let fake: FakeBackend;
      before(async () => {
        gateway = await startGateway(engine);
        ({ fake } = gateway);
      });
      beforeEach(() => {
        fake.failure = undefined;
        fake.hits = undefined;
        fake.groups.length = 0;
      });
      after(() => gateway.stop());

      it('is called with the principal of the request', async () => {
        const headers = { 'x-request-id': 'req-mine' };
        for (const ask of [
          () => gateway.query({ query: 'x', spaces: ['private:mine'] }, headers),
          () => gateway.get('/health?deep=1', headers),
        ]) {
          const { body } = await ask();
          expect(fake.askedFor).to.deep.include({ correlationId: body.correlation_id, requestId: 'req-mine' });
          expect(fake.askedFor?.principal.id).to.equal('local');
        }
      });

      it('is aborted when the caller disconnects', async () => {
        const leaver = new AbortController();
        const ended = Promise.withResolvers<unknown>();
        fake.ended = ended.resolve;
        fake.askedFor = undefined;
        try {
          const body = JSON.stringify({ query: 'x', spaces: ['private:mine'] });
          const headers = { 'content-type': 'application/json' };
          const { signal } = leaver;
          const asking = fetch(`${gateway.host.origin}/memory/query`, { method: 'POST', headers, body, signal });
          await until('the search', () => fake.askedFor !== undefined);
          leaver.abort();
          expect(await asking.catch((error: Error) => error.name)).to.equal('AbortError');
          expect(await ended.promise).to.have.property('code', 'call_aborted');
        } finally {
          fake.ended = undefined;
        }
      });

      it('drops hits of other spaces, whatever space the backend reports', async () => {
        const mine = await gateway.store({ payload_md: 'Mine', target_space: 'private:mine' });
        const theirs = await gateway.store({ payload_md: 'Theirs', target_space: 'private:theirs' });
        fake.hits = [
          { id: String(mine.body.memory_id), content: 'Mine', score: 0.5 },
          { id: String(theirs.body.memory_id), content: 'Theirs', score: 0.9, space: 'private:mine' },
          { id: 'unknown-but-there', content: 'Elsewhere', score: 0.8, metadata: { space: 'private:mine' } },
          { id: 'unknown', content: 'Nowhere', score: 0.7 },
        ];
        const answer = await gateway.query({ query: 'x', spaces: ['private:mine'] });
        expect(contents(answer)).to.deep.equal(['Elsewhere', 'Mine']);
        expect(answer.body.total).to.equal(2);
        const filtered = await gateway.query({
          query: 'x',
          spaces: ['private:mine'],
          filters: { created_before: '2999-01-01' },
        });
        expect(contents(filtered)).to.deep.equal(['Mine']);
      });

      it('determines the space of a hit by its own ledger row, whatever row the backend returns', async () => {
        const mine = await gateway.store({ payload_md: 'Mine again', target_space: 'private:placed' });
        const theirs = await gateway.store({ payload_md: 'Not mine', target_space: 'private:apart' });
        const { ledger } = gateway.host.service('logbook');
        const [memory] = await ledger.byBackendIds('fake', [String(mine.body.memory_id)]);
        fake.hits = [
          { id: String(mine.body.memory_id), content: 'Mine again', score: 0.9, ...(memory && { memory }) },
          { id: String(theirs.body.memory_id), content: 'Not mine', score: 0.5, ...(memory && { memory }) },
        ];
        expect(contents(await gateway.query({ query: 'x', spaces: ['private:placed'] }))).to.deep.equal(['Mine again']);
        expect(contents(await gateway.query({ query: 'x', spaces: ['private:apart'] }))).to.deep.equal(['Not mine']);
        fake.hits = fake.hits.slice(0, 1);
        expect(contents(await gateway.query({ query: 'x', spaces: ['private:apart'] }))).to.deep.equal([]);
      });

      it('shows only the text that was stored under an id, and each id once', async () => {
        const mine = await gateway.store({ payload_md: 'My salary', target_space: 'private:mixed' });
        await gateway.store({ payload_md: 'Their salary', target_space: 'private:others' });
        const id = String(mine.body.memory_id);
        fake.hits = [
          { id, content: 'Their salary', score: 0.9 },
          { id, content: 'My salary', score: 0.5 },
        ];
        const answer = await gateway.query({ query: 'salary', spaces: ['private:mixed'] });
        expect(contents(answer)).to.deep.equal(['My salary']);
        expect(answer.body.warnings).to.deep.equal([
          `the memory backend has a different text under ${id} than was stored`,
        ]);
        fake.hits = [{ id, content: 'My salary', score: 0.5 }];
        expect((await gateway.query({ query: 'salary', spaces: ['private:mixed'] })).body).to.not.have.property(
          'warnings',
        );
      });

      it('answers from candidates and the ledger while the backend is down', async () => {
        await gateway.store({ payload_md: 'The beacon of the ledger', target_space: 'team:default' });
        await gateway.store({ payload_md: 'A beacon 100%', target_space: 'private:own' });
        const insert = (title: string, content: string, space: string | null) =>
          gateway.database.statement<{ candidate_id: number }>(
            `insert into {analysis.knowledge_candidates} (title, content_md, kind, target_space, evidence_refs_json)
               values (?, ?, 'FACT', ?, ?) returning candidate_id`,
            [title, content, space, JSON.stringify({ refs: [{ uri: 'https://c' }] })],
          );
        const shared = await insert('Beacon', 'is lit', null);
        await insert('Other beacon', 'is private', 'private:own');
        fake.failure = unreachable();
        const answer = await gateway.query({ query: 'beacon', spaces: ['private:own'] });
        expect(answer.body).to.deep.include({
          ok: true,
          degraded: true,
          message: 'Degraded query (memory backend unavailable): OpenMemory API error: 503',
        });
        expect(results(answer).map(({ content, source }) => [source, content])).to.deep.equal([
          ['logbook_fallback', 'is private'],
          ['ledger', 'A beacon 100%'],
        ]);
        const both = await gateway.query({ query: 'BEACON', spaces: ['team:default', 'private:unknown'] });
        expect(results(both).map(({ id }) => id)).to.include(`kc_${shared.rows[0]?.candidate_id}`);
        expect(results(both).map(({ content }) => content)).to.include('The beacon of the ledger');
        expect(results(both)[0]).to.deep.include({
          title: 'Beacon',
          confidence: 'mid',
          evidence_refs: ['https://c'],
          score: 1,
        });
        const percent = await gateway.query({ query: '100%', spaces: ['private:own'] });
        expect(contents(percent)).to.deep.equal(['A beacon 100%']);
        expect(contents(await gateway.query({ query: '1_0%', spaces: ['private:own'] }))).to.deep.equal([]);
      });

      it('does not fail other memories of the group when one fails', async () => {
        const texts = Array.from({ length: 20 }, (_, n) => (n === 7 ? 'the poison' : `healthy ${n}`));
        const answers = await Promise.all(
          texts.map((payload_md) => gateway.store({ payload_md, target_space: 'private:group' })),
        );
        expect(fake.groups.some((group) => group.length > 1)).to.equal(true);
        expect(answers.filter(({ body }) => body.ok === true)).to.have.length(19);
        const poisoned = answers[7];
        expect(poisoned?.body).to.deep.include({ ok: false, action: 'error', error_code: 'INTERNAL_ERROR' });
        expect(poisoned?.body.message).to.equal(`Internal error (${poisoned?.body.correlation_id})`);
        expect(
          poisoned === undefined ? [] : (await gateway.audits(poisoned)).map(({ reason }) => reason),
        ).to.deep.equal(['internal_error']);
        expect(await gateway.count('logbook.memories', `space = 'private:group'`)).to.equal(19);
        expect((await gateway.host.service('audit').verify()).ok).to.equal(true);
      });

      it('reports in its health that the backend is down, and stays up', async () => {
        fake.failure = unreachable();
        const deep = await gateway.get('/health?deep=1');
        expect(deep.status).to.equal(200);
        expect(deep.body).to.deep.include({ ok: true, status: 'degraded' });
        expect(deep.body.checks).to.have.nested.property('memory_backend.ok', false);
        const { body } = await gateway.get('/reliability/report');
        expect(body.backend).to.deep.include({ key: 'fake', last_error: 'OpenMemory API error: 503' });
      });
    },
    { keepRows: true },
  );
});
