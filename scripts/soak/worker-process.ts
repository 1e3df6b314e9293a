import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Stage } from './stage.js';
import type { Order } from './worker.js';

const script = fileURLToPath(new URL('./worker.js', import.meta.url));

/** Another process on the stage's database. */
export class WorkerProcess {
  readonly child: ChildProcess;
  readonly #ready: Promise<unknown>;

  constructor({ env }: Stage, ttlSeconds: number) {
    this.child = fork(script, [JSON.stringify(env), String(ttlSeconds)]);
    this.#ready = once(this.child, 'message');
  }

  async order(order: Order): Promise<void> {
    await this.#ready;
    this.child.send(order);
  }

  /** Sends an order and waits for its answer. */
  async ask<Answer>(order: Order): Promise<Answer> {
    await this.#ready;
    const answered = once(this.child, 'message');
    this.child.send(order);
    const [answer] = (await answered) as [Answer];
    return answer;
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}
