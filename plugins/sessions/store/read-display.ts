import type { MessagePage, TurnStatus } from 'mortise/contracts/sessions';
import type { SqlValue } from 'mortise/sdk';
import { type MessageRow, toMessage } from './rows.js';
import type { Store } from './store.js';

/** Turns that a chat shows unless asked for all. */
export const shownStatuses: readonly TurnStatus[] = ['completed', 'running', 'step_limit'];

/** Beyond every number of a session; the largest that the column holds. */
const newest = 2 ** 31 - 1;

export interface DisplayQuery {
  readonly chatId: string;
  readonly limit: number;
  readonly beforeSeq?: number | undefined;
  /** False: only the rows of {@link shownStatuses}. */
  readonly all: boolean;
}

/** The newest rows of a chat, oldest first. Always from the database: a running turn keeps its own copy. */
export async function readDisplay(store: Store, query: DisplayQuery): Promise<MessagePage> {
  const bindings: SqlValue[] = [query.chatId, Math.min(query.beforeSeq ?? newest, newest)];
  if (!query.all) bindings.push(...shownStatuses);
  const { rows } = await store.database.statement<MessageRow & { turn_status: string | null }>(
    `select m.*, t.status as turn_status from {realtime.messages} m left join {realtime.turns} t on t.turn_id = m.turn_id
     where m.chat_id = ? and m.seq < ? ${query.all ? '' : 'and (t.status in (?, ?, ?) or t.status is null)'}
     order by m.seq desc limit ?`,
    [...bindings, query.limit + 1],
  );
  const more = rows.length > query.limit;
  const messages = rows
    .slice(0, query.limit)
    .reverse()
    .map((row) => ({ ...toMessage(row, store.database.codec), turnStatus: row.turn_status as TurnStatus | null }));
  return { messages, before: more ? (messages[0]?.seq ?? null) : null };
}
