import type { SessionsService, TurnDetail, TurnStatus } from 'mortise/contracts/sessions';
import { type Principal, pageOf, type Route, readCursor, readLimit } from 'mortise/sdk';
import { sessionError, storing } from '../errors.js';
import { readTurns } from '../store/read-turns.js';
import type { Store } from '../store/store.js';
import { boundChat, turnRecord } from './shared.js';

const statuses: readonly TurnStatus[] = [
  'running',
  'completed',
  'failed',
  'cancelled',
  'interrupted',
  'step_limit',
  'timed_out',
  'fenced',
];

export function listTurnsRoute(store: Store, sessions: SessionsService): Route {
  return {
    async handle({ params, query }, ctx) {
      const chatId = params.chat_id ?? '';
      const limit = readLimit(query.get('limit'));
      const cursor = readCursor(query.get('cursor'), 'number', 'string');
      const status = readStatus(query.get('status'));
      await boundChat(sessions, ctx.principal, chatId);
      const before = cursor && { startedAt: cursor[0], turnId: cursor[1] };
      const turns = await storing(() => readTurns(store, { chatId, status, limit: limit + 1, before }));
      return { body: pageOf(turns, limit, ({ startedAt, turnId }) => [startedAt, turnId], ctx).map(turnRecord) };
    },
  };
}

export function readTurnRoute(sessions: SessionsService): Route {
  return {
    async handle({ params }, { principal }) {
      const turn = await turnOf(sessions, principal, params);
      const truncated = turn.eventsTruncated ? { events_truncated: true } : {};
      return { body: { ...turnRecord(turn), events: turn.events, ...truncated } };
    },
  };
}

/** No observation: a cancel concerns the running turn and must not queue behind it. */
export function cancelTurnRoute(sessions: SessionsService): Route {
  return {
    async handle({ params }, { principal }) {
      const turn = await turnOf(sessions, principal, params);
      return { body: { cancelled: await sessions.cancelTurn(turn.turnId) } };
    },
  };
}

async function turnOf(
  sessions: SessionsService,
  principal: Principal,
  params: Readonly<Record<string, string>>,
): Promise<TurnDetail> {
  const { chat_id: chatId = '', turn_id: turnId = '' } = params;
  await boundChat(sessions, principal, chatId);
  const turn = await sessions.getTurn(turnId);
  if (turn?.chatId === chatId) return turn;
  throw sessionError('turn_not_found', { details: { chat_id: chatId, turn_id: turnId } });
}

function readStatus(text: string | null): TurnStatus | undefined {
  if (text === null) return undefined;
  const status = statuses.find((known) => known === text);
  if (status === undefined) {
    throw sessionError('invalid_request', { message: `status must be one of: ${statuses.join(', ')}` });
  }
  return status;
}
