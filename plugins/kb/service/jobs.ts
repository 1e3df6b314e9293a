import { MortiseError, newUlid } from 'mortise/sdk';
import { kbError, toWireError, type WireError } from '../errors.js';

type JobKind = 'refresh' | 'reindex' | 'repair' | 'embed_build' | 'embed_refresh' | 'evaluate';

/** A long operation, as it is reported. */
export interface Job {
  readonly id: string;
  readonly kind: JobKind;
  readonly repo: string | null;
  readonly state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  readonly phase: string;
  readonly done: number;
  readonly total: number;
  /** Per second. */
  readonly rate: number | null;
  readonly eta_seconds: number | null;
  readonly report?: object;
  readonly error?: WireError;
  readonly started_at: string;
  readonly ended_at: string | null;
}

/** What the work of a job is given. */
export interface JobContext {
  readonly signal: AbortSignal;
  progress(phase: string, done: number, total: number): void;
  /** Lets the next job begin: the rest of this job changes no source. @param report of what is done */
  release(report?: object): void;
}

/** The jobs of this process: one at a time until it is released, the last 100 are remembered. */
export interface Jobs {
  start(kind: JobKind, repo: string | null, run: (ctx: JobContext) => Promise<object>): Job;
  list(): readonly Job[];
  /** @throws MortiseError `job_not_found` */
  get(id: string): Job;
  /** The job that changes the sources of a repo, or waits for its turn. */
  active(repo: string): Job | undefined;
  /** @throws MortiseError `job_not_found` @returns false when it has ended already */
  cancel(id: string): boolean;
  /** Resolves when the job has ended, or after a time. */
  wait(id: string, ms?: number): Promise<Job>;
  /** Resolves when the job has ended or lets the next one begin. @throws MortiseError `job_not_found` */
  released(id: string): Promise<Job>;
  /** Calls `run` with every change of a job until it has ended or the signal is aborted. */
  follow(id: string, signal: AbortSignal): AsyncGenerator<Job>;
  close(): Promise<void>;
}

const maxRemembered = 100;

interface Entry {
  job: Job;
  readonly controller: AbortController;
  readonly ended: Promise<void>;
  /** Resolves when the next job may begin. */
  readonly released: Promise<void>;
  isReleased: boolean;
  readonly listeners: Set<() => void>;
}

export function createJobs(): Jobs {
  const entries = new Map<string, Entry>();
  let tail: Promise<void> = Promise.resolve();

  const change = (entry: Entry, next: Partial<Job>): void => {
    entry.job = { ...entry.job, ...next };
    for (const listener of entry.listeners) listener();
  };
  const find = (id: string): Entry => {
    const entry = entries.get(id);
    if (entry === undefined) throw kbError('job_not_found', { job_id: id });
    return entry;
  };
  const isOver = ({ state }: Job): boolean => state === 'done' || state === 'failed' || state === 'cancelled';

  const run = async (
    entry: Entry,
    work: (ctx: JobContext) => Promise<object>,
    letNextBegin: () => void,
  ): Promise<void> => {
    const { signal } = entry.controller;
    let phaseSince = Date.now();
    try {
      signal.throwIfAborted();
      change(entry, { state: 'running', started_at: new Date().toISOString() });
      const report = await work({
        signal,
        progress: (phase, done, total) => {
          if (phase !== entry.job.phase) phaseSince = Date.now();
          const seconds = (Date.now() - phaseSince) / 1_000;
          const rate = done > 0 && seconds > 0 ? done / seconds : null;
          const eta = rate !== null && total > 0 ? Math.max(0, (total - done) / rate) : null;
          change(entry, { phase, done, total, rate, eta_seconds: eta });
        },
        release: (report) => {
          entry.isReleased = true;
          if (report !== undefined) change(entry, { report });
          letNextBegin();
        },
      });
      change(entry, { state: 'done', report, ended_at: new Date().toISOString() });
    } catch (error) {
      const isCancelled = signal.aborted || (error as { code?: unknown }).code === 'cancelled';
      const ended = { state: isCancelled ? 'cancelled' : 'failed', ended_at: new Date().toISOString() } as const;
      change(entry, isCancelled ? ended : { ...ended, error: toWireError(error) });
    }
  };

  return {
    start: (kind, repo, work) => {
      const id = `job-${newUlid().toLowerCase()}`;
      const job: Job = {
        id,
        kind,
        repo,
        state: 'queued',
        phase: 'queued',
        done: 0,
        total: 0,
        rate: null,
        eta_seconds: null,
        started_at: new Date().toISOString(),
        ended_at: null,
      };
      const begun = tail;
      const controller = new AbortController();
      const { promise: released, resolve } = Promise.withResolvers<void>();
      const ended = begun.then(() => run(entry, work, resolve)).finally(resolve);
      const entry: Entry = { job, controller, listeners: new Set(), ended, released, isReleased: false };
      tail = released;
      entries.set(id, entry);
      for (const [old, { job: one }] of entries) {
        if (entries.size <= maxRemembered) break;
        if (isOver(one)) entries.delete(old);
      }
      return job;
    },
    list: () => [...entries.values()].map(({ job }) => job).reverse(),
    get: (id) => find(id).job,
    active: (repo) =>
      [...entries.values()].find(({ job, isReleased }) => job.repo === repo && !isOver(job) && !isReleased)?.job,
    cancel: (id) => {
      const entry = find(id);
      if (isOver(entry.job)) return false;
      entry.controller.abort(new MortiseError('cancelled', 'The job was cancelled.', { status: 499 }));
      return true;
    },
    wait: async (id, ms) => {
      const entry = find(id);
      if (ms === undefined) await entry.ended;
      else {
        let timer: NodeJS.Timeout | undefined;
        await Promise.race([entry.ended, new Promise((resolve) => (timer = setTimeout(resolve, ms)))]);
        clearTimeout(timer);
      }
      return entry.job;
    },
    released: async (id) => {
      const entry = find(id);
      await entry.released;
      return entry.job;
    },
    follow: async function* (id, signal) {
      const entry = find(id);
      let wake: () => void = () => undefined;
      const notify = (): void => wake();
      entry.listeners.add(notify);
      signal.addEventListener('abort', notify, { once: true });
      try {
        let shown: Job | undefined;
        while (!signal.aborted) {
          if (shown !== entry.job) {
            shown = entry.job;
            yield shown;
            if (isOver(shown)) return;
            continue;
          }
          await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        entry.listeners.delete(notify);
        signal.removeEventListener('abort', notify);
      }
    },
    close: async () => {
      for (const { controller, job } of entries.values()) if (!isOver(job)) controller.abort();
      await Promise.all([...entries.values()].map(({ ended }) => ended));
    },
  };
}
