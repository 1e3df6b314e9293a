import { checkSnapshot } from './checker/check-snapshot.js';
import type { Violation } from './checker/evidence.js';
import type { Stage } from './stage/open-stage.js';

/** Checks the invariants after every few kills, under load. */
interface InvariantWatch {
  died(): void;
  /** @returns the number of checks, and the violations */
  end(): Promise<{ readonly checks: number; readonly violations: readonly Violation[] }>;
}

const CHECK_EVERY_KILLS = 5;

export function watchInvariants(stage: Stage): InvariantWatch {
  const violations: Violation[] = [];
  let deaths = 0;
  let checks = 0;
  let running = Promise.resolve();

  const check = async (): Promise<void> => {
    // Opened for each check: an open connection would prevent SQLite from recovering as it does after a crash.
    const database = await stage.read();
    try {
      checks += 1;
      for (const what of await checkSnapshot(database)) violations.push({ rule: 'snapshot', what });
    } finally {
      await database.close();
    }
  };

  return {
    died() {
      deaths += 1;
      if (deaths % CHECK_EVERY_KILLS === 0) running = running.then(check);
    },
    async end() {
      await running;
      return { checks, violations };
    },
  };
}
