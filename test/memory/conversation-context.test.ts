import { expect } from 'chai';
import { createConversations, type Json, type MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { extendContext, type MemoryHit } from 'mortise/sdk';
import { eachDatabase, until } from 'mortise/sdk/testing';

import { contents, results, startMemory } from './memory-host.js';

const space = 'private:talk';
const talk = [
  'Good morning, how was the trip?',
  'Long. The luggage was delayed for two hours.',
  'Did you finally choose a name for the parrot?',
  'Yes: Columbus.',
  'Lovely, it suits him.',
  'He repeats it all day.',
  'See you on Monday.',
  'See you then.',
  'Bring the photographs along.',
  'I will.',
];

type Explain = NonNullable<MemoryHit['explain']>;
const partsOf = ({ explain }: Json): Explain => explain as Explain;
const ownPart = ({ bm25, coverage, phrase }: Explain): number => 0.65 * bm25 + 0.25 * coverage + 0.1 * phrase;

const local = { id: 'local', admin: true, loopback: true, authenticated: false };

describe('the context of a conversation', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine);
        const store = async (payload_md: string, target_space: string, meta_json?: Json) => {
          const { body } = await memory.store({
            payload_md,
            target_space,
            ...(meta_json && { meta_json }),
          });
          expect(body).to.include({ ok: true });
        };
        for (const [index, text] of talk.entries()) {
          await store(text, space, index % 2 === 0 ? { conversation_id: 'c1' } : { session_id: 'c1' });
          // Another conversation at the same time, the same one in another space, and no conversation.
          await store(`other ${index} ${index === 2 ? 'parrot' : 'words'}`, space, { conversation_id: 'c2' });
          await store(`elsewhere ${index}`, 'private:elsewhere', { conversation_id: 'c1' });
          await store(`alone ${index} ${index === 3 ? 'parrot cage' : ''}`, space);
        }
        for (const colour of ['red', 'white', 'green'])
          await store(`${colour} lighthouse`, space, { conversation_id: 'c3' });
      });
      after(() => memory.stop());

      const ask = (query: string, filters: Json = {}, more: Json = {}) => {
        return memory.query({ query, spaces: [space], filters: { explain: true, ...filters }, ...more });
      };
      const hit = (all: readonly Json[], content: string | undefined) => {
        const found = all.find((one) => one.content === content);
        if (found === undefined) throw new Error(`${content} is not a hit`);
        return found;
      };

      it('makes the neighbours of a match hits, weighted by their distance', async () => {
        const found = results(await ask('name parrot', {}, { top_k: 50 }));
        const centre = hit(found, talk[2]);
        for (const [distance, weight] of [0.45, 0.3, 0.2, 0.1].entries()) {
          const neighbour = hit(found, talk[3 + distance]);
          expect(neighbour.score).to.be.closeTo(weight * ownPart(partsOf(centre)), 1e-9);
          expect(partsOf(neighbour).matched_terms).to.deep.equal([]);
          expect(partsOf(neighbour).context_from).to.deep.equal([
            { id: centre.id, distance: distance + 1, score: ownPart(partsOf(centre)) },
          ]);
        }
        expect(contents({ body: { results: found } } as never)).to.not.include(talk[7]);
        expect(hit(found, talk[0]).score).to.be.closeTo(Number(hit(found, talk[4]).score), 1e-9);
      });

      it('explains every score by its parts, also when the best is scaled to 1', async () => {
        for (const query of [
          'name parrot',
          'the name of the parrot',
          'see you then on monday bring photographs',
          'trip luggage morning',
        ]) {
          const found = results(await ask(query, {}, { top_k: 50 }));
          expect(found).to.not.be.empty;
          for (const one of found) {
            const parts = partsOf(one);
            const from = parts.context_from ?? [];
            expect(one.score).to.be.within(0, 1);
            expect(ownPart(parts) + (parts.context ?? 0)).to.be.closeTo(Number(one.score), 1e-6);
            const sum = from.reduce(
              (all, { distance, score }) => all + ([0.45, 0.3, 0.2, 0.1][distance - 1] ?? 0) * score,
              0,
            );
            expect(sum).to.be.closeTo(parts.context ?? 0, 1e-6);
          }
        }
        const scaled = results(await ask('lighthouse'));
        expect(scaled[0]?.score).to.be.closeTo(1, 1e-9);
        expect(partsOf(scaled[0] ?? {}).scale).to.be.below(1);
      });

      it('stays within its space and conversation, and does not affect memories without one', async () => {
        const withContext = results(await ask('name parrot', {}, { top_k: 50 }));
        const without = results(await ask('name parrot', { context: false }, { top_k: 50 }));
        const alone = 'alone 3 parrot cage';
        expect(hit(withContext, alone).score).to.equal(hit(without, alone).score);
        expect(partsOf(hit(withContext, alone))).to.not.have.property('context');
        expect(
          withContext.map(({ content }) => String(content)).filter((text) => text.startsWith('elsewhere')),
        ).to.deep.equal([]);
        const other = hit(withContext, 'other 3 words');
        expect(partsOf(other).context_from?.map(({ id }) => id)).to.deep.equal([hit(withContext, 'other 2 parrot').id]);
      });

      it('is turned off by the query', async () => {
        const found = await ask('name parrot', { context: false }, { top_k: 50 });
        expect(contents(found)).to.have.members([talk[2], 'other 2 parrot', 'alone 3 parrot cage']);
        for (const one of results(found)) expect(partsOf(one)).to.not.have.any.keys('context', 'context_from', 'scale');
        expect(found.body).to.not.have.property('warnings');
      });

      it('adds no hit that a filter or a quoted phrase excludes', async () => {
        const ids = results(await ask('parrot', { meta: { session_id: 'c1' } }, { top_k: 50 })).map(
          ({ content }) => content,
        );
        expect(ids).to.have.members([talk[1], talk[3], talk[5]]);
        expect(contents(await ask('"the parrot"', {}, { top_k: 50 }))).to.deep.equal([talk[2]]);
        const high = results(await ask('name parrot', { min_score: 0.3 }));
        expect(high.every(({ score }) => Number(score) >= 0.3)).to.equal(true);
      });

      it('is that of the chat for memories that an agent stores in its turn', async () => {
        const session = { key: 'k', sessionId: 'chat-1', userId: 'talk', channel: 'api', turnId: 't', epoch: 1 };
        const store = (payload_md: string, meta_json?: Json) =>
          memory.host.points.call(
            'tool',
            'memory_store',
            (tool, ctx) =>
              tool.run(
                { payload_md, target_space: space, ...(meta_json && { meta_json }) },
                extendContext(ctx, { caller: 'agent' as const, session }),
              ),
            { principal: local },
          );
        await store('The dentist moved to Elm Street.');
        await store('Second floor, bell on the left.', { kind: 'note' });
        await store('Something about taxes.', { conversation_id: 'taxes' });
        const found = results(await ask('dentist elm street'));
        expect(hit(found, 'Second floor, bell on the left.').meta).to.deep.equal({
          kind: 'note',
          conversation_id: 'chat-1',
        });
        expect(contents(await ask('dentist'))).to.not.include('Something about taxes.');
      });

      it('is added to memories that were stored before it was indexed', async () => {
        await memory.database.statement(`update {logbook.memory_documents} set conversation = null, analysis = 'old'`);
        const found = async () => contents(await ask('name parrot'));
        await memory.host.control.disable('memory-backend-local');
        await memory.host.control.enable('memory-backend-local');
        await until('the conversations are indexed', async () => (await found()).includes(talk[3]));
      });
    },
    { keepRows: true },
  );
});

describe('recall in long conversations', () => {
  eachDatabase((engine) => {
    it('is a tenth higher with context', async () => {
      const memory = await startMemory(engine);
      try {
        const { messages, questions } = createConversations({ count: 2, length: 150, questions: 60 });
        const spaceOf = (conversation: number) => `private:talk${conversation}`;
        await Promise.all(
          [0, 1].map(async (conversation) => {
            for (const { text } of messages.filter((message) => message.conversation === conversation)) {
              const meta_json = { conversation_id: 'long' };
              const target_space = spaceOf(conversation);
              const { body } = await memory.store({
                payload_md: text,
                target_space,
                meta_json,
              });
              expect(body).to.include({ ok: true });
            }
          }),
        );
        const recallOf = async (context: boolean): Promise<number> => {
          let found = 0;
          for (const { query, conversation, evidence } of questions) {
            const hits = contents(await memory.query({ query, spaces: [spaceOf(conversation)], filters: { context } }));
            if (evidence.some((index) => hits.includes(messages[index]?.text))) found += 1;
          }
          return found / questions.length;
        };
        expect(await recallOf(true)).to.be.at.least(1.12 * (await recallOf(false)));
      } finally {
        await memory.stop();
      }
    });
  });
});
