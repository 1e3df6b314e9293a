import type { SessionLease } from 'mortise/contracts/sessions';
import { fencedError, storing } from './errors.js';
import { startHeartbeat } from './heartbeat.js';
import { appendMessages } from './store/message-rows.js';
import { claimSession, releaseSession, renewSession } from './store/session-row.js';
import type { Session, Store } from './store/store.js';

/** Claims the session, keeps the claim alive, runs, and releases in all cases; null when another owner holds it. */
export async function withLease<T>(
  store: Store,
  session: Session,
  ttlMs: number,
  run: (lease: SessionLease) => Promise<T>,
): Promise<T | null> {
  const claim = await storing(() => claimSession(store, session, ttlMs));
  if (!claim) return null;
  const controller = new AbortController();
  const heartbeat = startHeartbeat({
    ttlMs,
    renew: () => renewSession(store, claim, ttlMs),
    onLost: (loss) => controller.abort(fencedError(loss)),
  });
  try {
    return await run({
      sessionKey: claim.key,
      epoch: claim.epoch,
      signal: controller.signal,
      append: (messages, options) =>
        storing(() =>
          appendMessages(store, claim, { chatId: claim.currentChatId, turnId: options?.turnId ?? null }, messages),
        ),
    });
  } finally {
    heartbeat.stop();
    // A failed release does not fail the work: the lease expires by itself.
    await releaseSession(store, claim.key, claim.token).catch(() =>
      store.log.warn(
        { session_key: claim.key, epoch: claim.epoch },
        'a session was not released; its lease will expire',
      ),
    );
  }
}
