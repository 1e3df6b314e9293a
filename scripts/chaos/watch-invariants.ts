import { checkSnapshot } from './checker/check-snapshot.js';
import type { Violation } from './checker/evidence.js';
import type { Stage } from './stage/open-stage.js';

/** Looks at the invariants every so many deaths, while everything goes on. */
export interface InvariantWatch {
  died(): void;
  /** @returns how often it looked, and what it saw. */
  end(): Promise<{ readonly looks: number; readonly violations: readonly Violation[] }>;
}

const LOOK_EVERY_DEATHS = 5;

export function watchInvariants(stage: Stage): InvariantWatch {
  const violations: Violation[] = [];
  let deaths = 0;
  let looks = 0;
  let looking = Promise.resolve();

  const look = async (): Promise<void> => {
    // Opened for each look: a connection that stays would keep SQLite from recovering as it does after a crash.
    const database = await stage.read();
    try {
      looks += 1;
      for (const what of await checkSnapshot(database)) violations.push({ rule: 'snapshot', what });
    } finally {
      await database.close();
    }
  };

  return {
    died() {
      deaths += 1;
      if (deaths % LOOK_EVERY_DEATHS === 0) looking = looking.then(look);
    },
    async end() {
      await looking;
      return { looks, violations };
    },
  };
}
