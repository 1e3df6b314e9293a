import { AsyncLocalStorage } from 'node:async_hooks';
import type { TurnService } from 'mortise/contracts/agent';
import type { SessionsService } from 'mortise/contracts/sessions';
import type { CallContext, Logger } from 'mortise/sdk';
import type { AgentRef, ClaimedRun, SubAgents } from './sub-agents.js';

interface RunDeps {
  readonly turns: TurnService;
  readonly sessions: SessionsService;
  readonly agents: SubAgents;
  readonly log: Logger;
}

/** Turns of a session that may wait behind the running one of a sub-agent, and for how long. */
const wait = { limit: 16, timeoutMs: 120_000 };

/** Runs turns of sub-agents. They outlive the call that started them and act for its principal. */
export class BackgroundRuns {
  readonly #deps: RunDeps;
  readonly #running = new Map<string, { readonly controller: AbortController; readonly done: Promise<void> }>();
  /** Leaves the call that starts a run: its time limit and its transaction are not those of the run. */
  readonly #detached = AsyncLocalStorage.snapshot();

  constructor(deps: RunDeps) {
    this.#deps = deps;
  }

  /** Starts a claimed run; how it ends is in its row. */
  start(run: ClaimedRun, ctx: CallContext): void {
    const controller = new AbortController();
    const { principal, requestId, correlationId, trace } = ctx;
    const own: CallContext = {
      signal: controller.signal,
      log: this.#deps.log,
      principal,
      requestId,
      correlationId,
      trace,
    };
    const done = this.#detached(() => this.#run(run, own)).finally(() => this.#running.delete(idOf(run.ref)));
    this.#running.set(idOf(run.ref), { controller, done });
  }

  /** Ends the run of an agent, in this or another process. */
  async cancel(ref: AgentRef): Promise<void> {
    const local = this.#running.get(idOf(ref));
    local?.controller.abort(new Error('The agent was closed.'));
    const { sessions, agents } = this.#deps;
    const turn = local ? undefined : await sessions.runningTurn(await agents.session(ref));
    if (turn) await sessions.cancelTurn(turn.turnId);
    await local?.done;
  }

  /** Resolves when the agent's run in this process ends; at once when there is none. */
  ended(ref: AgentRef): Promise<void> | undefined {
    return this.#running.get(idOf(ref))?.done;
  }

  /** Ends all runs of this process. */
  async stop(): Promise<void> {
    const runs = [...this.#running.values()];
    for (const { controller } of runs) controller.abort(new Error('The plugin stops.'));
    await Promise.all(runs.map(({ done }) => done));
  }

  async #run(run: ClaimedRun, ctx: CallContext): Promise<void> {
    const { agents, log } = this.#deps;
    try {
      const end = await this.#answer(run, ctx);
      await agents.finish(run.ref, ctx.signal.aborted && 'error' in end ? { error: 'interrupted' } : end);
    } catch (error) {
      const kind = error instanceof Error ? error.name : typeof error;
      log.warn({ code: 'subagent_failed', error: kind }, 'a turn of a sub-agent could not be run');
      await agents.finish(run.ref, { error: errorText(error) }).catch(() => undefined);
    }
  }

  async #answer(
    { ref, session, promptMode, collaborationMode, input }: ClaimedRun,
    ctx: CallContext,
  ): Promise<{ readonly reply: string } | { readonly error: string }> {
    const { turns } = this.#deps;
    const business = {
      prompt_mode: promptMode,
      ...(collaborationMode === undefined ? {} : { collaboration_mode: collaborationMode }),
    };
    const message = { role: 'user' as const, content: input };
    const admitted = await turns.admit({ session, input: [message], business }, ctx);
    // The answer is for the parent: no channel sends it to a person.
    const request = { ...admitted.request, dispatch: undefined };
    const options = { source: `subagent:${ref.agentId}`, ingress: 'internal' as const, wait };
    const answer = await turns.submit({ ...admitted, request }, options, ctx);
    if (answer.kind !== 'turn') return { error: `${answer.error.code}: ${answer.error.message}` };
    const { result } = answer;
    return result.kind === 'failed'
      ? { error: `${result.error.code}: ${result.error.message}` }
      : { reply: result.reply };
  }
}

function idOf({ parentKey, agentId }: AgentRef): string {
  return `${agentId}\n${parentKey}`;
}

/** Only a coded error has a text for others. */
function errorText(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return typeof code === 'string' && typeof message === 'string' ? `${code}: ${message}` : 'internal_error';
}
