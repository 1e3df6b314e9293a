import type {
  Chat,
  ChatSummary,
  HistoryLimit,
  NewMessage,
  OpenTurn,
  RecentHistory,
  StoredMessage,
  TurnOutcome,
} from 'mortise/contracts/sessions';
import { type MortiseError, retryCommit } from 'mortise/sdk';
import { fencedError, hasCode, sessionError, storing } from './errors.js';
import { type Heartbeat, type LeaseLoss, startHeartbeat } from './heartbeat.js';
import { closeTurn } from './store/close-turn.js';
import { appendMessages, readHistory } from './store/message-rows.js';
import type { Opened } from './store/open-turn.js';
import { readRecentHistory, storeSummary } from './store/recent-history.js';
import { renewSession } from './store/session-row.js';
import type { Store } from './store/store.js';
import { hasEndedAs, markFenced, readCancelRequest } from './store/turn-rows.js';

interface RunningTurnOptions {
  readonly store: Store;
  readonly opened: Opened;
  readonly turnId: string;
  readonly ttlMs: number;
  /** Aborted when a cancel is requested or the lease is lost. */
  readonly controller: AbortController;
  readonly onClosed: () => void;
}

/** A turn on a claimed session; the claim is renewed until the turn is closed. */
export class RunningTurn implements OpenTurn {
  readonly turnId: string;
  readonly chat: Chat;
  readonly #options: RunningTurnOptions;
  readonly #heartbeat: Heartbeat;
  readonly #lost = Promise.withResolvers<never>();
  #loss: MortiseError | undefined;
  #closed = false;

  constructor(options: RunningTurnOptions) {
    this.#options = options;
    this.turnId = options.turnId;
    this.chat = options.opened.chat;
    // Only those that wait for the database learn it from here.
    this.#lost.promise.catch(() => undefined);
    this.#heartbeat = startHeartbeat({
      ttlMs: options.ttlMs,
      renew: () => this.#renew(),
      onLost: (loss) => this.#lose(loss),
    });
  }

  get sessionKey(): string {
    return this.#options.opened.lease.key;
  }

  get epoch(): number {
    return this.#options.opened.lease.epoch;
  }

  get signal(): AbortSignal {
    return this.#options.controller.signal;
  }

  history(): Promise<readonly StoredMessage[]> {
    const { store } = this.#options;
    return this.#unlessLost(() => readHistory(store, this.chat.id, this.turnId));
  }

  recentHistory(limit: HistoryLimit): Promise<RecentHistory> {
    const { store } = this.#options;
    return storing(() => readRecentHistory(store, this.chat.id, this.turnId, limit));
  }

  storeSummary(summary: ChatSummary): Promise<void> {
    const { store, opened } = this.#options;
    return storing(() => storeSummary(store, opened.lease, this.chat.id, summary));
  }

  append(messages: readonly NewMessage[]): Promise<readonly StoredMessage[]> {
    const { store, opened } = this.#options;
    return this.#unlessLost(() =>
      appendMessages(store, opened.lease, { chatId: this.chat.id, turnId: this.turnId }, messages),
    );
  }

  /** Rejects when the end could not be stored; it may then be called again, with another outcome. */
  async close(outcome: TurnOutcome): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { store, onClosed } = this.#options;
    try {
      await this.#unlessLost(async () => {
        // The end releases the claim, which a later renewal would take for a loss.
        await this.#heartbeat.finish();
        if (outcome.status === 'fenced') throw sessionError('session_fenced');
        await this.#storeEnd(outcome);
      });
    } catch (error) {
      if (hasCode(error, 'session_fenced')) {
        const noted = storing(() => markFenced(store, this.turnId, outcome.steps));
        // A database that hangs would keep the caller waiting; the sweep then ends the row.
        if (this.#loss?.details === undefined) await noted;
        else noted.catch(() => undefined);
      } else this.#closed = false;
      throw error;
    } finally {
      this.#heartbeat.stop();
      onClosed();
    }
  }

  async #storeEnd(outcome: TurnOutcome): Promise<void> {
    const { store, opened } = this.#options;
    const turn = {
      lease: opened.lease,
      turnId: this.turnId,
      chatId: this.chat.id,
      chatName: chatName(opened.input),
    };
    let attempts = 0;
    try {
      await retryCommit(
        async () => {
          // The claim was reported as lost, so the outcome must not be stored any more.
          if (this.#loss) throw this.#loss;
          attempts += 1;
          return closeTurn(store, turn, outcome);
        },
        (error) => !hasCode(error, 'session_fenced'),
      );
    } catch (error) {
      // An earlier attempt may have been committed although its acknowledgement was lost; it released the session.
      const isOwn = attempts > 1 && hasCode(error, 'session_fenced');
      if (!isOwn || !(await hasEndedAs(store, this.turnId, outcome.status))) throw error;
    }
  }

  #lose(loss: LeaseLoss): void {
    const error = fencedError(loss);
    this.#loss = error;
    this.#options.controller.abort(error);
    this.#lost.reject(error);
  }

  /** Runs store work, which may wait for a database that hangs: not longer than the claim is held. */
  #unlessLost<T>(work: () => Promise<T>): Promise<T> {
    if (this.#loss) return Promise.reject(this.#loss);
    return Promise.race([storing(work), this.#lost.promise]);
  }

  async #renew(): Promise<boolean> {
    const { store, opened, ttlMs, controller } = this.#options;
    if (!(await renewSession(store, opened.lease, ttlMs))) return false;
    if (await readCancelRequest(store, this.turnId)) controller.abort(sessionError('turn_cancelled'));
    return true;
  }
}

/** The first 20 code points of the first user text that is not blank. */
function chatName(input: readonly NewMessage[]): string | null {
  for (const { role, content } of input) {
    const text = content.trim();
    if (role === 'user' && text !== '') return [...text.slice(0, 40)].slice(0, 20).join('');
  }
  return null;
}
