import { AsyncResource } from 'node:async_hooks';
import { Worker } from 'node:worker_threads';

/** A process that commits less than this does not need the thread. */
const commitsBeforeStart = 200;

/** Commits after which the log is copied: one or two megabytes, where many stores share each commit. */
const commitsPerCopy = 8;

/** Pages of the log, 16 MiB, from which on commits copy it themselves: the thread cannot keep up, or is not running. */
export const maxLogPages = 4_096;

/**
 * Copies the write-ahead log into the database file on a thread of its own. The copy waits for the disk, for longer than a
 * commit does; on the thread that serves requests all of them would wait with it.
 */
export class SqliteCheckpoints {
  readonly #file: string;
  /** In the host's context: the thread does not belong to the plugin whose commit starts it. */
  readonly #start = AsyncResource.bind(() => this.#open());
  #thread: Worker | undefined;
  #commits = 0;
  #over = false;
  #foundOverwritten = false;

  constructor(file: string) {
    this.#file = file;
  }

  /** The thread found a file that another program has written, and stopped copying. */
  get foundOverwritten(): boolean {
    return this.#foundOverwritten;
  }

  /** Something was committed. */
  committed(): void {
    this.#commits += 1;
    if (this.#over || this.#commits < commitsBeforeStart || this.#commits % commitsPerCopy > 0) return;
    this.#thread ??= this.#start();
    this.#thread.postMessage('copy');
  }

  /** Ends the thread; later commits start another one, which opens the file that then has the name. */
  async restart(): Promise<void> {
    await this.#end();
    this.#over = false;
    this.#foundOverwritten = false;
    this.#commits = 0;
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#end();
  }

  async #end(): Promise<void> {
    this.#over = true;
    const thread = this.#thread;
    if (thread === undefined) return;
    // The process waits for it before it exits.
    thread.ref();
    thread.postMessage('close');
    await new Promise((resolve) => thread.once('exit', resolve));
  }

  #open(): Worker {
    const thread = new Worker(new URL('./sqlite-checkpoint-thread.js', import.meta.url), {
      workerData: { file: this.#file },
      // An open file that ends with the thread would take the locks of other connections with it.
      trackUnmanagedFds: false,
      stdout: false,
      stderr: false,
    });
    // Without the thread, commits copy the log.
    thread.on('error', () => undefined);
    thread.on('message', () => {
      this.#foundOverwritten = true;
    });
    thread.on('exit', () => {
      this.#over = true;
      this.#thread = undefined;
    });
    thread.unref();
    return thread;
  }
}
