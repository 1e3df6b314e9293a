import type { SessionsService } from 'mortise/contracts/sessions';
import { type Route, readCursor, readLimit, writeCursor } from 'mortise/sdk';
import { type Bubble, chatBubbles } from '../chat-bubbles.js';
import { storing } from '../errors.js';
import { readDisplay } from '../store/message-rows.js';
import type { Store } from '../store/store.js';
import { boundChat } from './shared.js';

/** The messages of a chat, oldest first; with `limit` the newest of them, and a cursor to the older ones. */
export function chatMessagesRoute(store: Store, sessions: SessionsService): Route {
  return {
    async handle({ params, query }, ctx) {
      const chatId = params.chat_id ?? '';
      const limit = readLimit(query.get('limit'));
      const cursor = readCursor(query.get('cursor'), 'number');
      const all = query.get('include_failed') === 'true';
      await boundChat(sessions, ctx.principal, chatId);
      const { bubbles, more } = await storing(() => readBubbles(store, { chatId, limit, before: cursor?.[0], all }));
      const first = bubbles[0];
      if (more && first) ctx.setHeader('X-Next-Cursor', writeCursor([first.firstSeq]));
      return { body: { messages: bubbles.map(({ message }) => message) } };
    },
  };
}

interface BubbleQuery {
  readonly chatId: string;
  readonly limit: number;
  readonly before: number | undefined;
  readonly all: boolean;
}

/** Reads rows until there are enough bubbles: a turn with many tool calls has many rows and one bubble. */
async function readBubbles(
  store: Store,
  query: BubbleQuery,
): Promise<{ readonly bubbles: readonly Bubble[]; readonly more: boolean }> {
  let rowLimit = query.limit + 10;
  for (;;) {
    const page = await readDisplay(store, {
      chatId: query.chatId,
      limit: rowLimit,
      beforeSeq: query.before,
      all: query.all,
    });
    const bubbles = chatBubbles(page.messages);
    if (page.before === null) {
      return { bubbles: bubbles.slice(-query.limit), more: bubbles.length > query.limit };
    }
    // The oldest bubble of a cut page may lack rows: it only shows that there is more.
    if (bubbles.length > query.limit) return { bubbles: bubbles.slice(-query.limit), more: true };
    rowLimit *= 4;
  }
}
