import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eachDatabase, rounds } from 'mortise/sdk/testing';
import type { ClaimOrder, ClaimsWon } from './claim-child.js';
import { openSessions } from './open-store.js';

const child = fileURLToPath(new URL('./claim-child.js', import.meta.url));
const processCount = 4;
const claimsOfEach = 4;
const sessionCount = rounds(60, 500);
/** Sessions that all processes race for at once. */
const atOnce = 20;

describe('a session that many processes claim', () => {
  eachDatabase((engine) => {
    const children: ChildProcess[] = [];

    afterEach(() => {
      for (const one of children.splice(0)) one.kill('SIGKILL');
    });

    /** All processes claim all sessions at once; what each of them won. */
    async function race(sessionIds: readonly string[]): Promise<ClaimsWon> {
      const order: ClaimOrder = { sessionIds, times: claimsOfEach };
      const answers = children.map(async (one) => {
        const [won] = (await once(one, 'message')) as [ClaimsWon];
        return won;
      });
      for (const one of children) one.send(order);
      return (await Promise.all(answers)).flat();
    }

    it('goes to exactly one of sixteen claims in each of many races, free or with an expired lease', async () => {
      const { store } = await openSessions(engine);
      for (let n = 0; n < processCount; n += 1) children.push(fork(child, [JSON.stringify(engine.settings)]));
      await Promise.all(children.map((one) => once(one, 'message')));
      const ids = Array.from({ length: sessionCount }, (_, n) => `race-${n}`);
      for (const epoch of [1, 2]) {
        const won: ClaimsWon[number][] = [];
        for (let at = 0; at < ids.length; at += atOnce) won.push(...(await race(ids.slice(at, at + atOnce))));
        expect(won.map(([id]) => id).toSorted(), 'winners').to.deep.equal(ids.toSorted());
        const { rows } = await store.database.statement<{ client_session_id: string; lock_token: string }>(
          "select client_session_id, lock_token from {realtime.sessions} where user_id = 'race'",
        );
        const held = new Map(rows.map((row) => [row.client_session_id, row.lock_token]));
        for (const [id, token, of] of won) expect([token, of], id).to.deep.equal([held.get(id), epoch]);
        await store.database.statement("update {realtime.sessions} set lease_expires_at = 1 where user_id = 'race'");
      }
    }).timeout(120_000);
  });
});
