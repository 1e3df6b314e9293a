import { type GateDecision, MortiseError, type Observation, type Settled, type SubmitOptions } from 'mortise/sdk';
import { deferred } from './deferred.js';

export type TicketState = 'queued' | 'running' | 'settled';

/**
 * One accepted observation on its way through bus, inbox and worker. It is settled exactly once; a ticket that was
 * settled while it stood in a queue is skipped by the worker.
 */
export class Ticket {
  readonly observation: Observation;
  readonly submit: SubmitOptions | undefined;
  readonly decided: SubmitOptions['decided'];
  /** Submitted from inside a running turn: it needs no place under the limit of concurrent turns. */
  readonly nested: boolean;
  /** Ends the handler: the caller has left, or the process is stopping. */
  readonly controller = new AbortController();
  readonly #settled = deferred<Settled>();
  readonly #onSettled: (() => void)[] = [];
  #state: TicketState = 'queued';
  #timer: NodeJS.Timeout | undefined;

  constructor(observation: Observation, submit?: SubmitOptions, nested = false, decided = submit?.decided) {
    this.observation = observation;
    this.submit = submit;
    this.decided = decided;
    this.nested = nested;
    if (!submit) return;
    const { signal, wait } = submit;
    if (signal) {
      const left = (): void => this.cancel(signal.reason);
      if (signal.aborted) left();
      else {
        signal.addEventListener('abort', left, { once: true });
        this.onSettled(() => signal.removeEventListener('abort', left));
      }
    }
    if (wait.timeoutMs > 0 && this.#state === 'queued') {
      this.#timer = setTimeout(() => this.#timeOut(), wait.timeoutMs);
    }
  }

  get state(): TicketState {
    return this.#state;
  }

  get settled(): Promise<Settled> {
    return this.#settled.promise;
  }

  /** Its handler begins: from here on only the handler ends it. */
  begin(): void {
    clearTimeout(this.#timer);
    if (this.#state === 'queued') this.#state = 'running';
  }

  /** Removes it from its queue, or tells its handler to stop. */
  cancel(reason: unknown): void {
    if (this.#state === 'settled') return;
    const running = this.#state === 'running';
    if (!running) this.settle({ outcome: 'cancelled' });
    this.controller.abort(
      reason instanceof MortiseError
        ? reason
        : new MortiseError('call_aborted', 'The caller is gone.', { status: 499, cause: reason }),
    );
  }

  settle(settled: Omit<Settled, 'observation'> & { readonly decision?: GateDecision }): void {
    if (this.#state === 'settled') return;
    this.#state = 'settled';
    clearTimeout(this.#timer);
    for (const run of this.#onSettled) run();
    this.#settled.resolve({ ...settled, observation: this.observation });
  }

  #timeOut(): void {
    this.settle({ outcome: 'queue_timeout' });
    this.controller.abort(new MortiseError('queue_timeout', 'The queue did not move in time.', { status: 503 }));
  }

  onSettled(run: () => void): void {
    this.#onSettled.push(run);
  }
}
