import type { MessagePage, SessionRef, SessionsService } from 'mortise/contracts/sessions';
import { isJsonObject } from 'mortise/sdk';
import type { Method } from '../method.js';
import { readFlag, readInteger, readSession } from '../params.js';

type Row = MessagePage['messages'][number];

/** The largest `limit`, and the default. */
const maxMessages = 1_000;

/** `chat.history`: the messages of the session's current chat, oldest first. Always read from the database. */
export const chatHistory: Method = async (params, { ctx }, { sessions }) => {
  const session = readSession(params, ctx.principal);
  const limit = readInteger(params, 'limit', 1, maxMessages) ?? maxMessages;
  const beforeSeq = readInteger(params, 'before_seq', 0, Number.MAX_SAFE_INTEGER);
  const detail = readFlag(params, 'detail');
  const { shown, answered } = await newestRows(sessions, session, { limit, beforeSeq, detail });
  return { messages: shown.map((row) => (detail ? detailed(row, answered) : plain(row))) };
};

interface Page {
  readonly limit: number;
  readonly beforeSeq: number | undefined;
  readonly detail: boolean;
}

/** Reads backwards until there are enough rows to show. */
async function newestRows(sessions: SessionsService, session: SessionRef, { limit, beforeSeq, detail }: Page) {
  const shown: Row[] = [];
  const answered = new Map<string, boolean>();
  let before = beforeSeq;
  for (;;) {
    const page = await sessions.display({ session }, { limit, ...(before === undefined ? {} : { beforeSeq: before }) });
    for (const row of page.messages) {
      if (row.role === 'tool' && row.toolCallId !== undefined) answered.set(callKey(row, row.toolCallId), isOk(row));
    }
    shown.unshift(...page.messages.filter((row) => isShown(row, detail)));
    if (shown.length >= limit || page.before === null) return { shown: shown.slice(-limit), answered };
    before = page.before;
  }
}

function isShown({ role, content, toolCalls }: Row, detail: boolean): boolean {
  if (role !== 'user' && role !== 'assistant') return false;
  return content.trim() !== '' || (detail && role === 'assistant' && (toolCalls?.length ?? 0) > 0);
}

function isOk({ meta }: Row): boolean {
  return meta?.ok === true;
}

/** Providers reuse call ids in later turns. */
function callKey({ turnId }: Row, callId: string): string {
  return `${turnId}:${callId}`;
}

function plain({ role, content, createdAt }: Row): object {
  return { role, content, timestamp: new Date(createdAt).toISOString() };
}

function detailed(row: Row, answered: ReadonlyMap<string, boolean>): object {
  return {
    ...plain(row),
    id: row.id,
    seq: row.seq,
    status: row.status,
    turn_id: row.turnId,
    tool_calls: (row.toolCalls ?? []).map((call) => ({
      call_id: call.id,
      tool_name: call.name,
      arguments: asObject(call.arguments),
      ok: answered.get(callKey(row, call.id)) ?? false,
    })),
  };
}

function asObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
