/** A process that makes simultaneous claims on request. Its database is the JSON in its argument. */

import { openDatabase, silentLog } from 'mortise/sdk/testing';
import { claimSession } from '../store/session-row.js';
import { asSession, openStore } from '../store/store.js';

export interface ClaimOrder {
  readonly sessionIds: readonly string[];
  /** Claims of each session. */
  readonly times: number;
}

/** Tokens that were won, by session id. */
export type ClaimsWon = readonly (readonly [sessionId: string, token: string, epoch: number])[];

const host = await openDatabase(JSON.parse(process.argv[2] ?? '{}'), silentLog);
const store = openStore(host.forPlugin('sessions', ['realtime']), `claimer-${process.pid}`, silentLog);

process.on('message', async ({ sessionIds, times }: ClaimOrder) => {
  const claims = sessionIds.flatMap((sessionId) =>
    Array.from({ length: times }, async () => {
      const session = asSession({ channel: 'console', userId: 'race', sessionId });
      const claim = await claimSession(store, session, 60_000);
      return claim ? [[sessionId, claim.token, claim.epoch] as const] : [];
    }),
  );
  const won: ClaimsWon = (await Promise.all(claims)).flat();
  process.send?.(won);
});
process.send?.('ready');
