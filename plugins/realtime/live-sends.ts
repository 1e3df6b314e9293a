import type { Idempotency } from 'mortise/contracts/sessions';
import { isCodedError, MortiseError } from 'mortise/sdk';

/** How a request for a turn ended, for those who cancel it. */
type SendEnd = 'cancelled' | 'ended';

interface LiveSendFacts {
  readonly sessionKey: string;
  readonly requestId: string;
  readonly controller: AbortController;
  readonly idempotency: Idempotency | undefined;
}

/** A request for a turn while it is in progress. */
export class LiveSend {
  readonly facts: LiveSendFacts;
  /** Settles when its last frame is sent. */
  readonly ended: Promise<SendEnd>;
  #end: (end: SendEnd) => void = () => undefined;

  constructor(facts: LiveSendFacts) {
    this.facts = facts;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  cancel(): void {
    this.facts.controller.abort(new MortiseError('turn_cancelled', 'The turn was cancelled.', { status: 409 }));
  }

  finish(end: SendEnd): void {
    this.#end(end);
  }
}

/** Whether a signal was aborted by a cancellation. */
export function isCancelled({ aborted, reason }: AbortSignal): boolean {
  return aborted && isCodedError(reason) && reason.code === 'turn_cancelled';
}

/** The turns that sockets of this process wait for: at most one per session. */
export class LiveSends {
  readonly #bySession = new Map<string, LiveSend>();

  get(sessionKey: string): LiveSend | undefined {
    return this.#bySession.get(sessionKey);
  }

  /** Occupies the session, which must be free. */
  begin(facts: LiveSendFacts): LiveSend {
    const send = new LiveSend(facts);
    this.#bySession.set(facts.sessionKey, send);
    return send;
  }

  /** Frees the session for the next request. */
  free(send: LiveSend): void {
    if (this.#bySession.get(send.facts.sessionKey) === send) this.#bySession.delete(send.facts.sessionKey);
  }
}
