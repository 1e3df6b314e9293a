import type { NewMessage, OpenTurn, OpenTurnRequest, SessionRef, SessionsService } from 'mortise/contracts/sessions';
import type { Database } from 'mortise/sdk';
import { silentLog, type TestEngine } from 'mortise/sdk/testing';
import { RunningTurns } from '../cancel-turns.js';
import { sessionTables } from '../migrations/0001-sessions.js';
import { chatSummaries } from '../migrations/0002-chat-summaries.js';
import type { TurnOpener } from '../open-turn.js';
import { sessionsService } from '../service.js';
import { openStore, type Store } from '../store/store.js';

export interface TestSessions extends TurnOpener {
  readonly service: SessionsService;
}

/** The store of one process; `owner` distinguishes processes. */
export async function openSessions(
  engine: TestEngine,
  options: {
    readonly owner?: string;
    readonly ttlMs?: number;
    readonly database?: Database;
    readonly log?: Store['log'];
  } = {},
): Promise<TestSessions> {
  const database = options.database ?? (await engine.open('sessions', ['realtime']));
  await database.migrate([sessionTables, chatSummaries]);
  const opener = {
    store: openStore(database, options.owner ?? 'process-a', options.log ?? silentLog),
    running: new RunningTurns(),
    ttlMs: options.ttlMs ?? 30_000,
  };
  return { ...opener, service: sessionsService(opener) };
}

export const s1: SessionRef = { channel: 'console', userId: 'u1', sessionId: 's1' };

export function user(content: string): NewMessage {
  return { role: 'user', content };
}

export function assistant(content: string): NewMessage {
  return { role: 'assistant', content };
}

export function turnRequest(text: string, extra: Partial<OpenTurnRequest> = {}): OpenTurnRequest {
  return {
    session: s1,
    input: [user(text)],
    correlationId: 'corr-0000000000000000',
    traceId: '0'.repeat(32),
    ...extra,
  };
}

/** Opens a turn that must open. */
export async function opened(
  service: SessionsService,
  request: OpenTurnRequest = turnRequest('hello'),
  waitMs = 0,
): Promise<OpenTurn> {
  const result = await service.openTurn(request, { waitMs });
  if (result.kind !== 'open') throw new Error(`the turn did not open: ${result.kind}`);
  return result.turn;
}

/** A whole turn: one question, one answer. */
export async function ask(service: SessionsService, text: string, answer: string): Promise<OpenTurn> {
  const turn = await opened(service, turnRequest(text));
  await turn.close({ status: 'completed', messages: [assistant(answer)], steps: 1 });
  return turn;
}

/** The stable code of what a promise rejects with. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return String((error as { code?: unknown }).code ?? error);
  }
  return 'resolved';
}

export async function nextSeq({ store }: TestSessions, key: string): Promise<number | undefined> {
  const { rows } = await store.database.statement<{ next_seq: number }>(
    'select next_seq from {realtime.sessions} where id = ?',
    [key],
  );
  return rows[0]?.next_seq;
}
