import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { repairHistory } from '../history-repair.js';
import { sweepSessions } from '../sweep.js';
import { openSessions } from './open-store.js';

const child = fileURLToPath(new URL('./crash-child.js', import.meta.url));
const rounds = 4;

describe('a killed process', () => {
  eachDatabase((engine) => {
    it('leaves whole rows without gaps, and usable sessions', async function crash() {
      this.timeout(90_000);
      const sessions = await openSessions(engine, { owner: 'survivor' });
      const { database } = sessions.store;
      const count = async () =>
        (await database.statement<{ n: number }>('select count(*) as n from {realtime.messages}')).rows[0]?.n ?? 0;
      for (let round = 0; round < rounds; round += 1) {
        const before = await count();
        const process = spawn(globalThis.process.execPath, [child, JSON.stringify(engine.settings)], {
          stdio: 'inherit',
        });
        const ended = once(process, 'exit');
        // Somewhere in the middle of a turn: every round a few rows later.
        await until('rows of the child', async () => (await count()) >= before + 20 + round * 7, 30_000);
        process.kill('SIGKILL');
        await ended;

        await sweepSessions(sessions.store, { alive: async () => new Set(['survivor']) });
        for (const sessionId of ['s0', 's1', 's2', 's3']) {
          const session = { channel: 'console', userId: 'crash', sessionId };
          const { messages } = await sessions.service.display({ session }, { limit: 1_000 });
          expect(messages.map(({ seq }) => seq)).to.deep.equal(messages.map((_, index) => index));
          for (const message of messages) expect(message.turnStatus).to.be.oneOf(['completed', 'interrupted']);
          const repaired = repairHistory(messages);
          for (const [index, row] of repaired.entries()) {
            for (const [at, { id }] of (row.toolCalls ?? []).entries()) {
              expect(repaired[index + 1 + at]?.toolCallId).to.equal(id);
            }
          }
          const completed = messages.filter(({ turnStatus }) => turnStatus === 'completed');
          expect(completed.length % 5, 'rows of completed turns').to.equal(0);
          const result = await sessions.service.openTurn({
            session,
            input: [],
            correlationId: 'corr-0000000000000000',
            traceId: '0'.repeat(32),
          });
          expect(result.kind).to.equal('open');
          if (result.kind === 'open') await result.turn.close({ status: 'completed', steps: 0 });
        }
      }
    });
  });
});
