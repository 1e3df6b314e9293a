import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TurnAnswer, TurnFailure, TurnService } from 'mortise/contracts/agent';
import type { ReplyPort } from 'mortise/contracts/conversation';
import { idempotencyOf, type SessionRef } from 'mortise/contracts/sessions';
import { type CallContext, extendContext, isCodedError, type Logger, type Principal } from 'mortise/sdk';
import type { EventEnd, EventStore, StoredEvent } from './event-store.js';
import type { QqEvent } from './read-event.js';

interface InboxDeps {
  readonly store: EventStore;
  readonly turns: TurnService;
  readonly log: Logger;
  /** Aborted when the plugin is being stopped. */
  readonly signal: AbortSignal;
  /** Sends a text outside of a turn: the answer to a command, or the stored answer of an interrupted turn. */
  readonly reply: (event: QqEvent, text: string, deliveryId: string, signal: AbortSignal) => Promise<void>;
}

/** The outcome of an event for a waiting caller. */
export type EventAnswer = TurnAnswer | { readonly kind: 'command'; readonly reply: string };

/** Milliseconds before each retry of an event whose session or platform was busy. */
const retryDelaysMs = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000];
/** Transient failures without a `Retry-After`. */
const transientCodes = ['turn_in_progress', 'store_error', 'session_fenced', 'queue_full'];

/** Received events that wait for their turn. Each has a row, so it survives a crash. */
export class Inbox {
  readonly #deps: InboxDeps;
  readonly #stopping = new AbortController();
  /** The last background run of each session, which the next one waits for. */
  readonly #tails = new Map<string, Promise<void>>();
  readonly #held = new Set<string>();
  #draining = false;
  /** Detaches the turn from the call that delivers its event, whose time limit does not apply. */
  readonly #detached = AsyncLocalStorage.snapshot();

  constructor(deps: InboxDeps) {
    this.#deps = deps;
  }

  /** Stores an event; from then on it is handled even if the process dies. @returns undefined for a duplicate */
  async accept(event: QqEvent): Promise<StoredEvent | undefined> {
    const stored = await this.#deps.store.add(event);
    if (stored) this.#held.add(stored.key);
    return stored;
  }

  /** Runs the turn of an accepted event for a waiting caller. */
  async answer(event: StoredEvent, ctx: CallContext, port: ReplyPort): Promise<EventAnswer> {
    const { store } = this.#deps;
    try {
      await store.start(event.key);
      const answer = await this.#run(event, extendContext(ctx, { principal: principalOf(event) }), port);
      // The caller gets the error and may send the event again.
      if (failureOf(answer) && !turnIdOf(answer)) await store.remove(event.key);
      else await store.finish(event.key, endOf(answer), turnIdOf(answer));
      return answer;
    } catch (error) {
      await store.remove(event.key);
      throw error;
    } finally {
      this.#held.delete(event.key);
    }
  }

  /** Runs the turn of an accepted event in the background, after earlier ones of its session. */
  follow(event: StoredEvent): void {
    const session = JSON.stringify([event.userId, event.sessionId]);
    const before = this.#tails.get(session) ?? Promise.resolve();
    const own = this.#detached(() => before.then(() => this.#settle(event)));
    this.#tails.set(session, own);
    void own.finally(() => {
      if (this.#tails.get(session) === own) this.#tails.delete(session);
    });
  }

  /** Continues with the events of processes that have ended. */
  async recover(): Promise<void> {
    for (const event of await this.#deps.store.takeOver((key) => this.#held.has(key))) {
      this.#held.add(event.key);
      this.follow(event);
    }
  }

  /** Resolves when all background runs have ended. An event that fails from now on is released, because the shutdown may be the cause. */
  async drain(): Promise<void> {
    this.#draining = true;
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }

  /** Aborts the background runs; their events are released. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('The plugin stops.'));
    await this.drain();
  }

  async #settle(event: StoredEvent): Promise<void> {
    const { store, log } = this.#deps;
    const { signal } = this.#stopping;
    try {
      await store.start(event.key);
      const answer = signal.aborted ? undefined : await this.#runWithRetries(event, signal);
      const failure = answer && failureOf(answer);
      if (!answer || (failure && this.#isEnding())) {
        await store.release(event.key);
        return;
      }
      if (failure) log.warn({ code: failure.code }, 'an event of QQ was not answered');
      await store.finish(event.key, endOf(answer), turnIdOf(answer));
    } catch (error) {
      // The row stays open; a later recovery takes it.
      log.error({ code: isCodedError(error) ? error.code : 'internal_error' }, 'an event of QQ could not be handled');
    } finally {
      this.#held.delete(event.key);
    }
  }

  #isEnding(): boolean {
    return this.#draining || this.#deps.signal.aborted;
  }

  async #runWithRetries(event: StoredEvent, signal: AbortSignal): Promise<EventAnswer> {
    for (const waitMs of retryDelaysMs) {
      const answer = await this.#attempt(event, signal);
      const failure = failureOf(answer);
      if (!failure || !isTransient(failure) || this.#isEnding()) return answer;
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return answer;
    }
    return this.#attempt(event, signal);
  }

  /** Runs the turn, or sends its stored answer when it completed in a process that died before sending it. */
  async #attempt(event: StoredEvent, signal: AbortSignal): Promise<EventAnswer> {
    try {
      const answer = await this.#run(event, backgroundCall(event, this.#deps.log, signal));
      if (answer.kind === 'turn' && answer.result.kind === 'replayed') {
        const { reply, turnId } = answer.result;
        await this.#deps.reply(event, reply, turnId, signal);
      }
      return answer;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      const { code, message, status = 500 } = error;
      return { kind: 'failed', error: { code, message, status } };
    }
  }

  async #run(event: StoredEvent, ctx: CallContext, port?: ReplyPort): Promise<EventAnswer> {
    const { turns, reply } = this.#deps;
    const session: SessionRef = { channel: 'qq', userId: event.userId, sessionId: event.sessionId };
    const input = [{ role: 'user' as const, content: event.text }];
    if (turns.isCommand(input)) {
      const text = await turns.runCommand(session);
      await reply(event, text, event.key, ctx.signal);
      return { kind: 'command', reply: text };
    }
    const admitted = await turns.admit({ session, input, business: { channel: event.reply } }, ctx);
    return turns.submit(
      admitted,
      {
        source: 'channel:qq',
        ingress: 'channel',
        idempotency: idempotencyOf(`qq:${event.key}`, [event.text, event.reply]),
        eventId: event.key,
        port,
      },
      ctx,
    );
  }
}

/** The principal of an event: its sender, without the admin right. */
function principalOf({ userId }: QqEvent): Principal {
  return { id: 'channel:qq', actor: userId, admin: false, loopback: false, authenticated: false };
}

/** The call of an event without a waiting caller. */
function backgroundCall(event: StoredEvent, log: Logger, signal: AbortSignal): CallContext {
  return {
    signal,
    log,
    principal: principalOf(event),
    requestId: `qq-${event.key.slice(0, 16)}`,
    correlationId: `corr-${randomBytes(8).toString('hex')}`,
    trace: { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex'), sampled: false },
  };
}

/** A message that the gate put aside is handled. */
function failureOf(answer: EventAnswer): TurnFailure | undefined {
  if (answer.kind === 'failed') return answer.error;
  if (answer.kind !== 'turn') return undefined;
  if (answer.result.kind === 'failed') return answer.result.error;
  return answer.result.kind === 'completed' ? answer.result.dispatchError : undefined;
}

function turnIdOf(answer: EventAnswer): string | undefined {
  return answer.kind === 'turn' ? answer.result.turnId : undefined;
}

function endOf(answer: EventAnswer): EventEnd {
  return failureOf(answer) ? 'failed' : 'done';
}

function isTransient({ code, retryAfterSeconds }: TurnFailure): boolean {
  return retryAfterSeconds !== undefined || transientCodes.includes(code);
}
