import { createContributionCache, type ObservationType, type Points } from 'mortise/sdk';

/** An active handler with its time limit. */
interface HandlerEntry {
  readonly key: string;
  /** Milliseconds; 0 = the handler has a limit of its own. */
  readonly timeoutMs: number;
}

const defaultTimeoutMs = 30_000;

/** Looks up the active handlers of a type, in order of plugin and key. */
export type HandlersOf = (type: ObservationType) => readonly HandlerEntry[];

/** The handlers of each type, read again only when contributions change. */
export function handlerTable(points: Points): HandlersOf {
  const table = createContributionCache(points, 'observation-handler', (contributions) => {
    const byType = new Map<ObservationType, HandlerEntry[]>();
    for (const { active, key, facts } of contributions) {
      if (!active) continue;
      for (const type of new Set(facts.types)) {
        const entries = byType.get(type) ?? [];
        entries.push({ key, timeoutMs: facts.timeoutMs ?? defaultTimeoutMs });
        byType.set(type, entries);
      }
    }
    return byType;
  });
  return (type) => table.current.get(type) ?? none;
}

const none: readonly HandlerEntry[] = Object.freeze([]);
