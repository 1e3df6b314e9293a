import type { NewMessage, StoredMessage } from 'mortise/contracts/sessions';
import { allocateFenced, allocateUnfenced } from './allocate.js';
import { insertMessages } from './insert-messages.js';
import type { Lease, Session, Store } from './store.js';

/** Rows of a running turn, or of a lease: numbers and rows in one transaction, so that no number is ever without its row. */
export function appendMessages(
  store: Store,
  lease: Lease,
  place: { readonly chatId: string | null; readonly turnId: string | null },
  messages: readonly NewMessage[],
): Promise<readonly StoredMessage[]> {
  return store.writes.run(async (trx) => {
    const firstSeq = await allocateFenced(store, lease.key, lease.token, messages.length, trx);
    return insertMessages(store, { sessionKey: lease.key, epoch: lease.epoch, firstSeq, ...place }, messages, trx);
  });
}

/** One row without a fence: tests, fixtures and imports only. */
export function importMessage(store: Store, session: Session, message: NewMessage): Promise<readonly StoredMessage[]> {
  return store.database.transaction(async (trx) => {
    const firstSeq = await allocateUnfenced(store, session, trx);
    const place = { sessionKey: session.key, chatId: null, turnId: null, epoch: null, firstSeq };
    return insertMessages(store, place, [message], trx);
  });
}
