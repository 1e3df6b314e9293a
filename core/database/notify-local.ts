import type { Logger } from '../sdk/context.js';
import { shortReason } from './connection-error.js';
import { Listeners, type NotificationBus } from './notify.js';
import type { Session } from './transaction.js';

/** Notifications within one process: with SQLite there is nobody else to tell at once. */
export function localBus(session: Session, log: Logger): NotificationBus {
  const listeners = new Listeners((error) =>
    log.error({ reason: shortReason(error) }, 'A notification listener failed'),
  );
  const deliver = (topic: string, payload: string): void => {
    // Later, and outside any transaction: as it would arrive from a server.
    session.outside(() => setImmediate(() => listeners.deliver(topic, payload)));
  };
  return {
    async notify(topic, payload, trx) {
      if (trx !== undefined) return session.afterCommit(trx, () => deliver(topic, payload));
      session.assertOutside();
      deliver(topic, payload);
    },
    listen: async (topic, listener) => listeners.add(topic, listener),
    close: async () => {},
  };
}
