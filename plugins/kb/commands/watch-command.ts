import { type CallContext, type CommandInput, type CommandResult, newId, type StartHost } from 'mortise/sdk';
import type { KbService } from '../service/knowledge-base.js';
import { createWatch, type RepoWatch } from '../service/watch-repo.js';
import { choiceOf } from './command-input.js';

/** How long one call waits for a change, milliseconds; the command line calls again at once. */
const stepMs = 1_000;
/** A command line that has not called for this long has been killed, milliseconds. */
const abandonedMs = 10_000;

interface Session {
  readonly repo: string;
  readonly watch: RepoWatch;
  /** Monotonic milliseconds; undefined while a call waits. */
  calledAt: number | undefined;
}

/** `mortise kb watch`: each command line has its own watch, which ends with it. */
export function createWatchCommand(
  kb: KbService,
  host: Pick<StartHost, 'every' | 'own'>,
  now: () => number = () => performance.now(),
) {
  const sessions = new Map<string, Session>();
  const end = (id: string): void => {
    sessions.get(id)?.watch.close();
    sessions.delete(id);
  };
  host.every(abandonedMs / 2, () => {
    const oldest = now() - abandonedMs;
    for (const [id, { calledAt = oldest }] of sessions) if (calledAt < oldest) end(id);
  });
  host.own({
    dispose: () => {
      for (const id of [...sessions.keys()]) end(id);
    },
  });
  return async function watch(input: CommandInput, ctx: CallContext): Promise<CommandResult> {
    const id = input.resume ?? newId('watch');
    let session = sessions.get(id);
    if (!session) {
      const repo = kb.repoOf(choiceOf(input, ctx));
      session = { repo: repo.name, watch: createWatch(kb, repo, ctx.log), calledAt: undefined };
      sessions.set(id, session);
      session.watch.start();
    }
    session.calledAt = undefined;
    const reports = await session.watch.next(stepMs, ctx.signal);
    session.calledAt = now();
    if (ctx.signal.aborted) end(id);
    const { repo } = session;
    const lines = reports.map(
      ({ changed_files, deleted_files }) =>
        `${new Date().toISOString()} ${repo}: ${changed_files} changed, ${deleted_files} deleted`,
    );
    return { exitCode: 0, data: { repo }, text: lines.join('\n'), again: { resume: id, afterMs: 0 } };
  };
}
