import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from 'mortise/sdk/testing';
import type { SentRequest } from '../checker/check-turns.js';
import type { RandomStream } from '../plan/random-stream.js';

interface TurnClient {
  /** The session of the client. */
  readonly session: string;
  readonly random: RandomStream;
  /** A running server; undefined while there is none. */
  readonly server: () => ServerProcess | undefined;
  readonly stopped: AbortSignal;
  readonly sent: SentRequest[];
}

const askMs = 20_000;

/**
 * Sends requests sequentially until it is stopped. Some have a key, and are repeated until they are answered; some are
 * streamed.
 */
export async function askForTurns({ session, random, server, stopped, sent }: TurnClient): Promise<void> {
  for (let count = 0; !stopped.aborted; count += 1) {
    const text = `${session}-${count} ${random.between(0, 2)}`;
    const key = random.chance(0.4) ? `key-${count}` : undefined;
    const stream = random.chance(0.5);
    const answered: string[] = [];
    sent.push({ text, key, answered });
    const most = key === undefined ? 1 : 20;
    for (let attempt = 0; attempt < most && !stopped.aborted; attempt += 1) {
      const turnId = await ask(server(), { session, text, key, stream }).catch(() => undefined);
      if (turnId !== undefined) answered.push(turnId);
      // An answered request is repeated once: it must get the same turn.
      if (answered.length === 2) break;
      if (turnId === undefined) await sleep(100);
    }
  }
}

/** @returns the turn of a completed answer; undefined for a refusal or a truncated answer */
async function ask(
  server: ServerProcess | undefined,
  { session, text, key, stream }: { session: string; text: string; key: string | undefined; stream: boolean },
): Promise<string | undefined> {
  if (!server) return undefined;
  const response = await fetch(`${server.origin}/agent/process`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
    body: JSON.stringify({
      session_id: session,
      user_id: 'u',
      stream,
      input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
    }),
    signal: AbortSignal.timeout(askMs),
  });
  const body = await response.text();
  const isAnswered = body.includes('"type":"completed"') && !body.includes('"type":"error"');
  return response.ok && isAnswered ? (response.headers.get('x-turn-id') ?? undefined) : undefined;
}
