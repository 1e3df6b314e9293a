import { setTimeout as sleep } from 'node:timers/promises';
import { openSessions, question, type Stage, sessionOf } from './stage.js';

interface Renewals {
  readonly turns: number;
  readonly ttlSeconds: number;
  /** Turns that lost their session although their claim was valid. */
  readonly fenced: number;
  /** Attempts of rivals to claim the sessions meanwhile, and how many succeeded. */
  readonly rivals: number;
  readonly rivalsWon: number;
}

/** Runs concurrent turns for five times the TTL of their claims, while they write and rivals try to claim their sessions. */
export async function renewals(stage: Stage, turns: number): Promise<Renewals> {
  const ttlSeconds = 1;
  const [owner, rival] = [await openSessions(stage.env, ttlSeconds), await openSessions(stage.env, ttlSeconds)];
  const until = performance.now() + ttlSeconds * 5_000;
  let fenced = 0;
  let rivals = 0;
  let rivalsWon = 0;
  const long = async (n: number): Promise<void> => {
    const opened = await owner.service('sessions').openTurn(question(`long-${n}`));
    if (opened.kind !== 'open') throw new Error(opened.kind);
    try {
      while (performance.now() < until) {
        await sleep(50);
        await opened.turn.append([{ role: 'assistant', content: 'still here' }]);
      }
      await opened.turn.close({ status: 'completed', messages: [{ role: 'assistant', content: 'done' }], steps: 1 });
    } catch {
      fenced += 1;
    }
  };
  const claim = async (): Promise<void> => {
    // Until shortly before the end, because after a turn a rival may have the session.
    for (let n = 0; performance.now() < until - 500; n += 1) {
      rivals += 1;
      const won = await rival.service('sessions').withLease(sessionOf(`long-${n % turns}`), async () => true);
      if (won) rivalsWon += 1;
    }
  };
  try {
    const running = Array.from({ length: turns }, (_, n) => long(n));
    await sleep(500);
    await Promise.all([...running, claim()]);
  } finally {
    await owner.stop();
    await rival.stop();
  }
  return { turns, ttlSeconds, fenced, rivals, rivalsWon };
}
