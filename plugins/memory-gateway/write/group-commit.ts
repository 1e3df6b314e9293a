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

/** Rows of one transaction. More would hold the write lock longer than it saves commits. */
export const LARGEST_GROUP = 128;

/**
 * Collects the jobs of one turn of the event loop, and those that come while a group commits, and commits each such
 * group as one. Nothing waits for company: alone, a job is committed at once.
 */
export function createGroupCommit<Job, Outcome>(commit: CommitGroup<Job, Outcome>): GroupCommit<Job, Outcome> {
  let waiting: Waiting<Job, Outcome>[] = [];
  let running: Promise<void> | undefined;

  const commitOne = async (): Promise<void> => {
    const group = waiting.slice(0, LARGEST_GROUP);
    waiting = waiting.slice(LARGEST_GROUP);
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
    // One turn of the loop: requests that arrived together are committed together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) await commitOne();
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
