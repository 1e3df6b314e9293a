import { randomUUID } from 'node:crypto';
import type { SessionsService } from 'mortise/contracts/sessions';
import { createDrain, type Database, type Disposable, type Logger } from 'mortise/sdk';
import { type Push, pushToWatchers, type Watchers } from './pushes.js';

const channel = 'realtime-push';

/** Longer pushes leave their largest member out, bytes. */
const pushBytes = 5_000;
/** Pushes of one notification together, bytes: it holds 7,000. */
const notificationBytes = 6_500;

interface AnnouncementDeps {
  readonly database: Pick<Database, 'dialect' | 'notify' | 'listen'>;
  readonly watchers: Watchers;
  readonly sessions: Pick<SessionsService, 'getTurn'>;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Notifies the sockets that watch a session: sockets of this process directly, sockets of other processes through
 * notifications of the database, since any process may run the turn and any may have the socket. Announcements that
 * arrive while a notification is being sent share the next one.
 */
export class Announcements implements Disposable {
  readonly #deps: AnnouncementDeps;
  readonly #self = randomUUID();
  /** As JSON, in order. */
  #waiting: string[] = [];
  readonly #sending = createDrain(() => this.#notifyOthers());
  #passing = Promise.resolve();
  #listening: Disposable | undefined;

  constructor(deps: AnnouncementDeps) {
    this.#deps = deps;
  }

  async listen(): Promise<void> {
    this.#listening = await this.#deps.database.listen(channel, (announced) => {
      const [from, ...pushes] = JSON.parse(announced) as [string, ...Push[]];
      // One after the other: a push that has to be read must not be passed by those behind it.
      if (from !== this.#self) this.#passing = this.#passing.then(() => this.#pass(pushes));
    });
  }

  async announce(push: Push): Promise<void> {
    const { database, watchers, sessions } = this.#deps;
    await pushToWatchers(watchers, sessions, push);
    if (database.dialect !== 'postgres') return;
    this.#waiting.push(announced(push));
    this.#sending.request();
  }

  async dispose(): Promise<void> {
    await this.#sending.idle();
    await this.#listening?.dispose();
    await this.#passing;
  }

  async #pass(pushes: readonly Push[]): Promise<void> {
    const { watchers, sessions, log } = this.#deps;
    for (const push of pushes) {
      try {
        await pushToWatchers(watchers, sessions, push);
      } catch {
        log.warn({ kind: push.kind }, 'watchers of a session did not receive an announcement of another process');
      }
    }
  }

  async #notifyOthers(): Promise<void> {
    const { database, log } = this.#deps;
    while (this.#waiting.length > 0) {
      const together = this.#waiting.splice(0, fitting(this.#waiting));
      try {
        await database.notify(channel, `["${this.#self}",${together.join(',')}]`);
      } catch {
        log.warn({ pushes: together.length }, 'announcements did not reach the watchers of other processes');
      }
    }
  }
}

/** How many of them one notification can hold; at least one. */
function fitting(pushes: readonly string[]): number {
  let bytes = 0;
  const tooMany = pushes.findIndex((push) => {
    bytes += Buffer.byteLength(push) + 1;
    return bytes > notificationBytes;
  });
  return tooMany < 0 ? pushes.length : Math.max(tooMany, 1);
}

function announced(push: Push): string {
  const whole = JSON.stringify(push);
  if (Buffer.byteLength(whole) <= pushBytes) return whole;
  const { text: _text, questions: _questions, ...rest } = push as Push & { text?: unknown; questions?: unknown };
  return JSON.stringify(rest);
}
