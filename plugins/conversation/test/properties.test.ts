import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { until } from 'mortise/sdk/testing';
import { message, patient, testConversation } from './fixture.js';

/** How a handler behaves with an observation. */
type Behaviour = 'at once' | 'soon' | 'later' | 'fails at once' | 'fails later';

const steps = fc.array(
  fc.record({
    session: fc.constantFrom('a', 'b', 'c'),
    behaviour: fc.constantFrom<Behaviour>('at once', 'soon', 'later', 'fails at once', 'fails later'),
    /** Whether somebody waits for it. */
    submitted: fc.boolean(),
    /** The publisher takes a breath after it. */
    pause: fc.boolean(),
  }),
  { minLength: 1, maxLength: 40 },
);

describe('whatever handlers do', () => {
  it('a session handles one observation at a time, in order of arrival, and loses none', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), async (all, concurrentTurns) => {
        const seen: Record<string, number[]> = { a: [], b: [], c: [] };
        const running = new Set<string>();
        let most = 0;
        const { conversation } = testConversation({
          limits: { concurrentTurns },
          handle: ({ metadata }): Promise<unknown> => {
            const { session, number, behaviour } = metadata as {
              readonly session: string;
              readonly number: number;
              readonly behaviour: Behaviour;
            };
            expect(running.has(session), 'two at a time').to.equal(false);
            running.add(session);
            most = Math.max(most, running.size);
            seen[session]?.push(number);
            const end = () => running.delete(session);
            if (behaviour === 'fails at once') {
              end();
              throw new Error('no');
            }
            if (behaviour === 'at once') {
              end();
              return 'done' as never;
            }
            return (behaviour === 'soon' ? Promise.resolve() : sleep(1)).then(() => {
              end();
              if (behaviour === 'fails later') throw new Error('no');
            });
          },
        });
        const expected: Record<string, number[]> = { a: [], b: [], c: [] };
        const settled: Promise<{ readonly outcome: string }>[] = [];
        for (const [number, { session, behaviour, submitted, pause }] of all.entries()) {
          const input = { ...message('x', session), metadata: { session, number, behaviour } };
          expected[session]?.push(number);
          if (submitted) settled.push(conversation.intake.submit(input, { wait: { ...patient, limit: 100 } }));
          else expect(conversation.intake.publish(input)).to.include({ ok: true });
          if (pause) await sleep(0);
        }
        await Promise.all(settled);
        await until('the rest', () => conversation.stats().running === 0);
        expect(seen).to.deep.equal(expected);
        expect(most).to.be.at.most(concurrentTurns);
        for (const { outcome } of await Promise.all(settled)) expect(outcome).to.be.oneOf(['handled', 'error']);
      }),
      { numRuns: 150 },
    );
  });
});
