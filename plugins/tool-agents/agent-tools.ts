import { setTimeout as delay } from 'node:timers/promises';
import { type SessionRef, type SessionsService, sessionNameLimits, violatedNameRule } from 'mortise/contracts/sessions';
import { boundUser, type JsonObject, newId, type Tool, type ToolContext } from 'mortise/sdk';
import type { BackgroundRuns } from './background-runs.js';
import { subAgentError } from './errors.js';
import type { AgentRef, SubAgents } from './sub-agents.js';

interface AgentToolDeps {
  readonly agents: SubAgents;
  readonly runs: BackgroundRuns;
  readonly sessions: SessionsService;
}

const usualWaitMs = 30_000;
const maxWaitMs = 300_000;
/** A run in another process is seen at the next look. */
const pollMs = 250;

/** The tools by name. */
export function agentTools(deps: AgentToolDeps): Readonly<Record<string, Pick<Tool, 'run' | 'normalise'>>> {
  const { agents, runs } = deps;
  return {
    spawn_agent: {
      // Models also call the task input, message or prompt.
      normalise: ({ input, message, prompt, ...args }) => {
        const task = input ?? message ?? prompt;
        return task === undefined ? args : { task, ...args };
      },
      run: (args, ctx) => spawn(args, ctx, deps),
    },
    send_input: {
      async run({ agent_id, input }, ctx) {
        const agent = await agents.queue(refOf(agent_id, ctx), String(input));
        return { ok: true, accepted: true, agent_id, agent, queued_input: input };
      },
    },
    resume_agent: {
      async run({ agent_id, input }, ctx) {
        const ref = refOf(agent_id, ctx);
        if (typeof input === 'string') await agents.queue(ref, input);
        runs.start(await agents.claimNext(ref), ctx);
        return { ok: true, resumed: true, agent: await agents.get(ref) };
      },
    },
    wait: { run: (args, ctx) => waitFor(args, ctx, deps) },
    close_agent: {
      async run({ agent_id }, ctx) {
        const ref = refOf(agent_id, ctx);
        await agents.get(ref);
        await runs.cancel(ref);
        return { ok: true, closed: true, agent: await agents.remove(ref), agent_id };
      },
    },
  };
}

async function spawn(args: JsonObject, ctx: ToolContext, { agents, runs, sessions }: AgentToolDeps): Promise<object> {
  const parent = parentOf(ctx);
  if (await agents.isSubAgent(parent.key)) throw subAgentError('tool_not_available');
  const agentId = textOf(args.agent_id) ?? newId('agent');
  const session: SessionRef = {
    sessionId: textOf(args.session_id) ?? `${parent.sessionId}::${agentId}`,
    userId: textOf(args.user_id) ?? parent.userId,
    channel: (textOf(args.channel) ?? parent.channel).toLowerCase(),
  };
  const bound = boundUser(ctx.principal);
  if (bound !== undefined && session.userId !== bound) throw subAgentError('tool_permission_denied');
  const rule = violatedNameRule(session.sessionId, sessionNameLimits.sessionId);
  if (rule !== undefined) throw subAgentError('invalid_tool_input', `session_id ${rule}`);
  const sessionKey = sessions.key(session);
  // Its turn would wait for its own caller.
  if (sessionKey === parent.key) throw subAgentError('invalid_tool_input', 'a sub-agent needs a session of its own');
  const promptMode = textOf(args.prompt_mode) ?? ctx.promptMode ?? 'default';
  const collaborationMode = textOf(args.collaboration_mode);
  const ref = { parentKey: parent.key, agentId };
  const run = await agents.create({ ...ref, session, sessionKey, promptMode, collaborationMode }, String(args.task));
  runs.start(run, ctx);
  return { ok: true, spawned: true, agent: await agents.get(ref) };
}

async function waitFor(args: JsonObject, ctx: ToolContext, { agents, runs }: AgentToolDeps): Promise<object> {
  const ref = refOf(args.agent_id, ctx);
  const asked = args.timeout_ms;
  const limit = typeof asked === 'number' && asked > 0 ? Math.min(asked, maxWaitMs) : usualWaitMs;
  const until = performance.now() + limit;
  for (;;) {
    const agent = await agents.get(ref);
    const ready = agent.status !== 'running';
    const left = until - performance.now();
    if (ready || left <= 0) return { ok: true, ready, timed_out: !ready, agent };
    const stop = new AbortController();
    const end = () => stop.abort();
    ctx.signal.addEventListener('abort', end, { once: true });
    const pause = delay(Math.min(left, pollMs), undefined, { signal: stop.signal }).catch(() => undefined);
    await Promise.race([pause, ...[runs.ended(ref)].filter((done) => done !== undefined)]);
    stop.abort();
    ctx.signal.removeEventListener('abort', end);
    ctx.signal.throwIfAborted();
  }
}

function parentOf({ session }: ToolContext): NonNullable<ToolContext['session']> {
  if (!session) throw subAgentError('tool_not_available', 'only a turn can start sub-agents');
  return session;
}

function refOf(agentId: unknown, ctx: ToolContext): AgentRef {
  return { parentKey: parentOf(ctx).key, agentId: String(agentId) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}
