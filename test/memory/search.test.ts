import { expect } from 'chai';
import type { Json, MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { contents, results, startMemory } from './memory-host.js';

const corpus = [
  'The gateway deploys on Tuesdays, after the tests have passed.',
  'Rollbacks: run `deploy --rollback v1.2.3` and tell the team.',
  '# Deploying the gateway\n\nNever deploy on a Friday.',
  'file_hash and fileHash name the same thing; see docs/a_b.md.',
  '上海是一座港口城市。',
  '部署流程：先运行测试，再发布到生产环境。',
  'Der Fluß heißt Donau, and café is spelled with an accent.',
  'Kubernetes pods restart when the memory limit is exceeded.',
  'The cat sat on the mat. The cat was not amused.',
  'サーバーを再起動する手順',
  '서버 배포 절차',
];

const queries = [
  'deploy the gateway',
  'rollback',
  'file_hash',
  'a_b.md',
  '港口',
  '海港城',
  '部署',
  'CAFE',
  'cats',
  '再起動',
  '배포',
  'the gateway tests',
  'v1.2.3',
  'memory limit restart',
];

describe('searching memories in the local backend', () => {
  /** Answers by engine, for comparison: ranking must not depend on the database. */
  const answers = new Map<string, readonly (readonly unknown[])[]>();

  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine);
        for (const payload_md of corpus) await memory.store({ payload_md, target_space: 'private:corpus' });
      });
      after(() => memory.stop());

      const ask = (query: string, more: Json = {}) => memory.query({ query, spaces: ['private:corpus'], ...more });
      const first = async (query: string) => contents(await ask(query))[0];

      it('finds words in any script, whole or in part', async () => {
        expect(await first('港口')).to.equal(corpus[4]);
        expect(await first('海港城')).to.equal(corpus[4]);
        expect(await first('部署')).to.equal(corpus[5]);
        expect(await first('再起動')).to.equal(corpus[9]);
        expect(await first('배포')).to.equal(corpus[10]);
      });

      it('finds words by their stem, in any case, with or without accents', async () => {
        expect(await first('ROLLBACK')).to.equal(corpus[1]);
        expect(await first('cafe')).to.equal(corpus[6]);
        expect(contents(await ask('deployment deploying'))).to.include.members([corpus[0], corpus[1], corpus[2]]);
      });

      it('finds names whole and in parts', async () => {
        for (const query of ['file_hash', 'fileHash', 'hash', 'docs/a_b.md'])
          expect(await first(query)).to.equal(corpus[3]);
        expect(await first('v1.2.3')).to.equal(corpus[1]);
      });

      it('treats every character of a query literally', async () => {
        for (const query of [
          '%',
          '_',
          '"',
          "'",
          '*',
          '(',
          'AND',
          'NOT cat',
          'a:b',
          '^cat',
          'cat*',
          '\\',
          '\0',
          '\ud800',
        ]) {
          expect((await ask(query)).status, query).to.equal(200);
        }
        expect(contents(await ask('%'))).to.deep.equal([]);
        expect(await first('NOT cat')).to.equal(corpus[8]);
      });

      it('requires a quoted phrase verbatim', async () => {
        expect(contents(await ask('"memory limit"'))).to.deep.equal([corpus[7]]);
        expect(contents(await ask('"limit memory"'))).to.deep.equal([]);
        expect(contents(await ask('gateway "on a friday"'))).to.deep.equal([corpus[2]]);
        expect(contents(await ask('"港口城市"'))).to.deep.equal([corpus[4]]);
      });

      it('answers a query of only stop words, and ignores them otherwise', async () => {
        expect(contents(await ask('the'))).to.include(corpus[8]);
        expect(contents(await ask('the cat'))).to.deep.equal([corpus[8]]);
      });

      it('counts headings twice', async () => {
        const [best] = results(await ask('deploying gateway'));
        expect(best?.content).to.equal(corpus[2]);
      });

      it('explains every score so that it can be recomputed', async () => {
        for (const query of queries) {
          for (const { score, explain } of results(await ask(query, { filters: { explain: true } }))) {
            const { bm25, coverage, phrase } = explain as { bm25: number; coverage: number; phrase: number };
            expect(0.65 * bm25 + 0.25 * coverage + 0.1 * phrase, query).to.be.closeTo(Number(score), 1e-6);
            expect(score).to.be.within(0, 1);
          }
        }
      });

      it('returns the same scores and order on every database', async () => {
        const found: (readonly unknown[])[] = [];
        for (const query of queries) {
          found.push(results(await ask(query)).map(({ content, score }) => [content, Number(score).toFixed(9)]));
        }
        answers.set(engine.dialect, found);
        const [one, ...others] = [...answers.values()];
        for (const other of others) expect(other).to.deep.equal(one);
        expect(found.every((hits) => hits.length > 0)).to.equal(true);
      });

      it('finds a memory in the next query, however many there are', async () => {
        for (let n = 0; n < 20; n += 1) {
          const word = `zq${String.fromCodePoint(97 + n)}qz`;
          await memory.store({ payload_md: word, target_space: 'private:next' });
          const answer = await memory.query({ query: word, spaces: ['private:next'] });
          expect(contents(answer)).to.deep.equal([word]);
        }
      });

      it('finds words that are rare in one space even if they are common in all others', async () => {
        const many = Array.from({ length: 500 }, (_, n) => ({
          payload_md: `common word number ${n}`,
          target_space: `private:many${n % 5}`,
        }));
        for (let at = 0; at < many.length; at += 50) {
          await Promise.all(many.slice(at, at + 50).map((body) => memory.store(body)));
        }
        await memory.store({ payload_md: 'a common guest', target_space: 'private:few' });
        expect(contents(await memory.query({ query: 'common', spaces: ['private:few'] }))).to.deep.equal([
          'a common guest',
        ]);
        const filtered = await memory.query({
          query: 'common word',
          spaces: ['private:many0', 'private:many1'],
          top_k: 100,
          filters: { created_before: '2999-01-01' },
        });
        expect(results(filtered)).to.have.length(100);
        const one = await memory.query({ query: 'common number 499', spaces: ['private:many4'] });
        expect(contents(one)[0]).to.equal('common word number 499');
      });

      it('finds a word as soon as it is stored, even after a search without a match', async () => {
        for (const word of ['zebraish', 'okapiish']) {
          const ask = () => memory.query({ query: word, spaces: ['private:many1'] });
          expect(results(await ask())).to.deep.equal([]);
          await memory.store({ payload_md: `common ${word}`, target_space: 'private:many1' });
          expect(contents(await ask())).to.deep.equal([`common ${word}`]);
        }
      });

      it('has every memory once under concurrent stores and searches', async () => {
        const body = (n: number) => ({ payload_md: `gnu number ${n}`, target_space: 'private:gnus' });
        const ask = () => memory.query({ query: 'gnu', spaces: ['private:gnus'], top_k: 100 });
        const numbers = Array.from({ length: 60 }, (_, n) => n);
        const seen = await Promise.all(
          numbers.map(async (n) => {
            await memory.store(body(n));
            return contents(await ask());
          }),
        );
        for (const [n, found] of seen.entries()) {
          expect(found).to.include(`gnu number ${n}`);
          expect(new Set(found).size).to.equal(found.length);
        }
        expect(contents(await ask())).to.have.length(60);
      });

      it('returns no memory of another space, however large the requested space is', async () => {
        const backend = memory.host.service('memory');
        for (const space of ['private:corpus', 'private:few', 'private:many0', 'private:none']) {
          for (const query of ['common', 'the gateway', 'word number 7', '部署 deploy cat common']) {
            const { hits } = await backend.search({ query, spaces: [space], filters: {}, limit: 200 }, {});
            expect(hits.filter((hit) => hit.space !== space)).to.deep.equal([]);
          }
        }
        const spaces = ['private:many0', 'private:many1', 'private:many2', 'private:many3'];
        const { hits } = await backend.search({ query: 'common number', spaces, filters: {}, limit: 200 }, {});
        expect(hits).to.have.length(200);
        expect(hits.filter((hit) => !spaces.includes(hit.space ?? ''))).to.deep.equal([]);
      });

      it('accepts a long query and a long memory', async () => {
        const words = Array.from({ length: 60_000 }, (_, n) => `w${n.toString(36)}`);
        const stored = await memory.store({ payload_md: words.join(' '), target_space: 'private:long' });
        expect(stored.body.ok).to.equal(true);
        for (const word of [words[0], words[30_000], words.at(-1)]) {
          const answer = await memory.query({ query: word, spaces: ['private:long'] });
          expect(results(answer), word).to.have.length(1);
        }
        const question = words.slice(0, 1_500).join(' ').slice(0, 8_192);
        expect(results(await memory.query({ query: question, spaces: ['private:long'] }))).to.have.length(1);
      });
    },
    { keepRows: true },
  );
});
