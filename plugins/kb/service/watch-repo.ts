import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'mortise/sdk';
import type { RefreshReport } from '../contract/kb.js';
import type { KbService } from './knowledge-base.js';
import type { Repo } from './settings.js';

/** Refreshes a repo when its files change. */
export interface RepoWatch {
  start(): void;
  /** Refreshes a repo whose index is gone: no file has changed then. */
  check(): Promise<void>;
  /** The reports of refreshes that changed something, after at most this time. */
  next(ms: number, signal: AbortSignal): Promise<readonly RefreshReport[]>;
  close(): void;
}

/** A burst of changes leads to one refresh: after this much quiet, but no later than the second limit; milliseconds. */
const atFirst = { quietMs: 150, longestMs: 1_500 };
/** Changes that go on after a refresh has begun lead to one more at their end: a checkout costs two. */
const afterOne = { quietMs: 300, longestMs: 20_000 };
/** A change this soon after the beginning of a refresh belongs to its burst, milliseconds. */
const burstMs = 3_000;
/** How many folders to begin watching before yielding to the event loop. */
const foldersPerTurn = 200;
/** Where folders cannot be watched. */
const pollMs = 2_000;

/**
 * How long to wait after a change, milliseconds.
 *
 * @param first time of the first change since the last refresh
 * @param lastBegun when the last refresh began
 */
export function waitAfter(now: number, first: number, lastBegun: number): number {
  const { quietMs, longestMs } = first - lastBegun < burstMs ? afterOne : atFirst;
  return Math.max(0, Math.min(quietMs, first + longestMs - now));
}

export function createWatch(kb: KbService, repo: Repo, log: Pick<Logger, 'warn'>): RepoWatch {
  const watchers = new Map<string, FSWatcher>();
  const reports: RefreshReport[] = [];
  let wake: () => void = () => undefined;
  let quiet: NodeJS.Timeout | undefined;
  let first = 0;
  let lastBegun = 0;
  /** Names were added or removed since the folders were listed. */
  let isRenamed = false;
  let poll: NodeJS.Timeout | undefined;
  let isRunning = false;
  let isDirty = false;
  let isClosed = false;

  const refresh = async (): Promise<void> => {
    if (isRunning) {
      isDirty = true;
      return;
    }
    isRunning = true;
    try {
      // Changes in a new folder are seen once it is watched, and belong to the same burst.
      if (isRenamed) {
        isRenamed = false;
        if ((await watchFolders()) && waitAfter(Date.now(), first, lastBegun) > 0) {
          changed();
          return;
        }
      }
      const active = kb.jobs.active(repo.name);
      if (active !== undefined) await kb.jobs.released(active.id);
      if (isClosed) return;
      first = 0;
      lastBegun = Date.now();
      const { id } = kb.refresh(
        {},
        { ...(kb.settings.repos.includes(repo) ? { repo: repo.name } : { root: repo.root }) },
      );
      const { report: read } = await kb.jobs.released(id);
      // Embedding may take long, and the files can be searched already.
      const report = (read ?? (await kb.reportOf(id))) as RefreshReport;
      if (report.changed_files + report.deleted_files + report.touched_files > 0) reports.push(report);
      wake();
      // A file may have changed in a new folder before the folder was watched.
      if (await watchFolders()) changed();
    } catch (error) {
      if (!isClosed)
        log.warn({ err: error, repo: repo.name }, 'A refresh after a change failed; the next change tries again.');
    } finally {
      isRunning = false;
      if (isDirty && !isClosed) {
        isDirty = false;
        changed();
      }
    }
  };
  const changed = (): void => {
    if (isClosed) return;
    const now = Date.now();
    first ||= now;
    clearTimeout(quiet);
    quiet = setTimeout(() => void refresh(), waitAfter(now, first, lastBegun));
    quiet.unref();
  };
  const startPolling = (reason: string): void => {
    if (poll !== undefined || isClosed) return;
    log.warn(
      { repo: repo.name, reason },
      'Folders cannot be watched any more; the repo is refreshed every 2 seconds instead.',
    );
    poll = setInterval(() => void refresh(), pollMs);
    poll.unref();
  };
  /** Watches every folder that is scanned; a folder that is gone ends its watcher. @returns whether there are new ones */
  const watchFolders = async (): Promise<boolean> => {
    if (isClosed || poll !== undefined) return false;
    let hasNew = false;
    let folders: readonly string[];
    try {
      folders = await kb.foldersOf(repo);
    } catch {
      return false;
    }
    if (isClosed) return false;
    const wanted = new Set(folders);
    for (const [folder, watcher] of watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      watchers.delete(folder);
    }
    for (const [index, folder] of folders.entries()) {
      if (index % foldersPerTurn === foldersPerTurn - 1) await new Promise((resolve) => setImmediate(resolve));
      if (isClosed) return false;
      if (watchers.has(folder)) continue;
      try {
        const watcher = watch(join(repo.root, folder), { persistent: false }, (event) => {
          isRenamed ||= event === 'rename';
          changed();
        });
        watcher.on('error', () => {
          watcher.close();
          watchers.delete(folder);
          changed();
        });
        watchers.set(folder, watcher);
        hasNew = true;
      } catch (error) {
        const code = String((error as NodeJS.ErrnoException).code);
        if (code !== 'ENOSPC' && code !== 'EMFILE') continue;
        startPolling(code);
        return false;
      }
    }
    return hasNew;
  };
  return {
    start: () => void watchFolders().then(changed),
    check: async () => {
      if (!isClosed && !isRunning && !(await kb.isIndexed(repo.name))) changed();
    },
    next: async (ms, signal) => {
      if (reports.length === 0) {
        let timer: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
          timer = setTimeout(resolve, ms);
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        clearTimeout(timer);
      }
      return reports.splice(0);
    },
    close: () => {
      isClosed = true;
      clearTimeout(quiet);
      clearInterval(poll);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
      wake();
    },
  };
}
