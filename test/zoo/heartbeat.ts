import type { ZooServer } from './zoo-server.js';

/** Asks the healthy plugin again and again, and remembers every answer that was not as it should be. */
export class Heartbeat {
  readonly wrong: string[] = [];
  beats = 0;
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
      await this.#beat().catch((error: unknown) => this.wrong.push(String(error)));
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }

  async #beat(): Promise<void> {
    const text = `beat ${this.beats}`;
    const { status, body } = await this.#server.ask('GET', `/healthy/echo?text=${encodeURIComponent(text)}`);
    this.beats += 1;
    if (status !== 200 || body.text !== text) this.wrong.push(`${status} ${JSON.stringify(body)}`);
  }
}
