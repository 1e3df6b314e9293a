import { isCodedError, type JsonObject, type Logger } from 'mortise/sdk';
import type { Inbox } from './inbox.js';
import { isMessageEvent, readEvent } from './read-event.js';

/**
 * Stores an event of the websocket and starts its turn; resolves when it is stored. Invalid events are ignored.
 * @throws store_error
 */
export async function receiveEvent(inbox: Inbox, name: string, envelope: JsonObject, log: Logger): Promise<void> {
  if (!isMessageEvent(name)) return;
  try {
    const event = readEvent(envelope);
    if (typeof event === 'string') return;
    const stored = await inbox.accept(event);
    if (stored) inbox.follow(stored);
  } catch (error) {
    if (!isCodedError(error) || error.code !== 'invalid_qq_event') throw error;
    log.warn({ code: error.code, event: name }, error.message);
  }
}
