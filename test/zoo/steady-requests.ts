import type { ZooServer } from './zoo-server.js';

/** Calls the healthy plugin repeatedly, and records every wrong answer. */
export class SteadyRequests {
  readonly wrong: string[] = [];
  sent = 0;
  #stopped = false;
  readonly #server: ZooServer;
  readonly #running: Promise<void>;

  constructor(server: ZooServer) {
    this.#server = server;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await this.#ask().catch((error: unknown) => this.wrong.push(String(error)));
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }

  async #ask(): Promise<void> {
    const text = `request ${this.sent}`;
    const { status, body } = await this.#server.ask('GET', `/healthy/echo?text=${encodeURIComponent(text)}`);
    this.sent += 1;
    if (status !== 200 || body.text !== text) this.wrong.push(`${status} ${JSON.stringify(body)}`);
  }
}
