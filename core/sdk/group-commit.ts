/** Commits jobs together; answers one outcome for each, in order. Rejects when none of them was committed. */
export type CommitGroup<Job, Outcome> = (jobs: readonly Job[]) => Promise<readonly GroupOutcome<Outcome>[]>;

export type GroupOutcome<Outcome> = { readonly value: Outcome } | { readonly error: unknown };

interface Waiting<Job, Outcome> {
  readonly job: Job;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Jobs that wait at the same time and are committed as one. */
export interface GroupCommit<Job, Outcome> {
  submit(job: Job): Promise<Outcome>;
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>;
}

/** Jobs of one transaction, unless a group says otherwise. More would hold the write lock longer than it saves commits. */
export const LARGEST_GROUP = 128;

/**
 * Collects the jobs that come while a group commits, and those of the turns of the event loop after it, as long as each
 * turn brings one: those who were answered together ask again one after the other. Each such group is committed as one.
 * Nothing waits for company that has not arrived: alone, a job is committed at once.
 *
 * @param largest most jobs of one group
 */
export function createGroupCommit<Job, Outcome>(
  commit: CommitGroup<Job, Outcome>,
  largest = LARGEST_GROUP,
): GroupCommit<Job, Outcome> {
  let waiting: Waiting<Job, Outcome>[] = [];
  let running: Promise<void> | undefined;

  /** Waits one turn of the loop, and another after each that brought jobs. */
  const gather = async (): Promise<void> => {
    let before: number;
    do {
      before = waiting.length;
      await new Promise((resolve) => setImmediate(resolve));
    } while (waiting.length > before && waiting.length < largest);
  };

  const commitOne = async (): Promise<void> => {
    const group = waiting.slice(0, largest);
    waiting = waiting.slice(largest);
    try {
      const outcomes = await commit(group.map(({ job }) => job));
      for (const [index, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined) reject(new Error('A job of the group has no outcome.'));
        else if ('error' in outcome) reject(outcome.error);
        else resolve(outcome.value);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      await gather();
      await commitOne();
    }
    running = undefined;
  };

  return {
    submit(job) {
      return new Promise((resolve, reject) => {
        waiting.push({ job, resolve, reject });
        running ??= run();
      });
    },
    async idle() {
      while (running !== undefined) await running;
    },
  };
}
