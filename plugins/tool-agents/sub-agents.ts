import type { SessionRef } from 'mortise/contracts/sessions';
import type { Database, Transaction } from 'mortise/sdk';
import { subAgentError } from './errors.js';

/** A sub-agent is known by its id to the session that started it, and to no other. */
export interface AgentRef {
  readonly parentKey: string;
  readonly agentId: string;
}

interface NewSubAgent extends AgentRef {
  readonly session: SessionRef;
  readonly sessionKey: string;
  readonly promptMode: string;
  readonly collaborationMode: string | undefined;
}

type SubAgentStatus = 'idle' | 'running' | 'failed';

/** A sub-agent as tools show it. */
interface SubAgent {
  readonly agent_id: string;
  readonly session_id: string;
  readonly user_id: string;
  readonly channel: string;
  readonly prompt_mode: string;
  readonly collaboration_mode?: string;
  readonly depth: number;
  readonly status: SubAgentStatus;
  readonly pending_inputs: number;
  readonly current_input?: string;
  readonly last_reply?: string;
  readonly last_error?: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly last_completed_at?: string;
}

/** A run that was claimed: the caller starts the turn. */
export interface ClaimedRun {
  readonly ref: AgentRef;
  readonly session: SessionRef;
  readonly promptMode: string;
  readonly collaborationMode: string | undefined;
  readonly input: string;
}

interface Row {
  readonly parent_key: string;
  readonly agent_id: string;
  readonly session_id: string;
  readonly user_id: string;
  readonly channel: string;
  readonly prompt_mode: string;
  readonly collaboration_mode: string | null;
  readonly depth: number;
  readonly status: SubAgentStatus;
  readonly owner_instance: string | null;
  readonly current_input: string | null;
  readonly last_reply: string | null;
  readonly last_error: string | null;
  readonly created_at: unknown;
  readonly updated_at: unknown;
  readonly last_completed_at: unknown;
}

const agents = 'agent.subagents';
const inputs = 'agent.subagent_inputs';
const maxQueued = 100;

/** The rows of sub-agents; only this class changes their status: idle or failed, running, and back. */
export class SubAgents {
  readonly #database: Database;
  /** Id of this process. */
  readonly #instance: string;
  readonly #now: () => number;

  constructor(database: Database, instance: string, now: () => number = Date.now) {
    this.#database = database;
    this.#instance = instance;
    this.#now = now;
  }

  /** Creates an agent that runs its first input. @throws tool_conflict when the id is taken */
  async create(agent: NewSubAgent, input: string): Promise<ClaimedRun> {
    const { parentKey, agentId, session, sessionKey, promptMode, collaborationMode } = agent;
    const now = this.#now();
    const row = {
      parent_key: parentKey,
      agent_id: agentId,
      session_key: sessionKey,
      session_id: session.sessionId,
      user_id: session.userId,
      channel: session.channel,
      prompt_mode: promptMode,
      collaboration_mode: collaborationMode ?? null,
      depth: 1,
      status: 'running',
      owner_instance: this.#instance,
      current_input: input,
      created_at: now,
      updated_at: now,
    };
    await this.#table(agents)
      .insert(row)
      .catch((error: unknown) => {
        if (this.#database.codec.errorKind(error) !== 'unique') throw error;
        throw subAgentError('tool_conflict', `the agent ${agentId} exists already`);
      });
    return { ref: { parentKey, agentId }, session, promptMode, collaborationMode, input };
  }

  /** Whether a session is that of a sub-agent. */
  async isSubAgent(sessionKey: string): Promise<boolean> {
    return (await this.#table(agents).where({ session_key: sessionKey }).first('agent_id')) !== undefined;
  }

  /** @throws agent_not_found */
  async get(ref: AgentRef): Promise<SubAgent> {
    const row: Row | undefined = await this.#table(agents).where(whereOf(ref)).first();
    if (!row) throw subAgentError('agent_not_found');
    const queued = await this.#table(inputs).where(whereOf(ref)).count({ total: '*' }).first();
    return this.#shown(row, this.#database.codec.parseInteger((queued as { total: unknown }).total));
  }

  async session(ref: AgentRef): Promise<SessionRef> {
    const { session_id: sessionId, user_id: userId, channel } = await this.get(ref);
    return { sessionId, userId, channel };
  }

  /** Adds an input to the queue. @throws agent_not_found, invalid_request when the queue is full */
  async queue(ref: AgentRef, input: string): Promise<SubAgent> {
    const { pending_inputs: pending } = await this.get(ref);
    if (pending >= maxQueued) throw subAgentError('invalid_request', `${maxQueued} inputs are queued already`);
    await this.#table(inputs).insert({ ...whereOf(ref), text: input, created_at: this.#now() });
    return this.get(ref);
  }

  /** Takes the next queued input and marks the agent as running. @throws agent_not_found, tool_conflict, invalid_request */
  async claimNext(ref: AgentRef): Promise<ClaimedRun> {
    return this.#database.transaction(async (trx) => {
      const rows = this.#table(agents, trx).where(whereOf(ref));
      const row: Row | undefined = await rows.clone().first();
      if (!row) throw subAgentError('agent_not_found');
      const running = { status: 'running', owner_instance: this.#instance, updated_at: this.#now() };
      // Of two calls at once, one changes the row.
      if ((await rows.clone().whereNot({ status: 'running' }).update(running)) === 0)
        throw subAgentError('tool_conflict');
      const queue = this.#table(inputs, trx).where(whereOf(ref));
      const next: { id: number; text: string } | undefined = await queue.clone().orderBy('id').first('id', 'text');
      if (!next) throw subAgentError('invalid_request');
      await queue.clone().where({ id: next.id }).delete();
      await rows.clone().update({ current_input: next.text });
      const session = { sessionId: row.session_id, userId: row.user_id, channel: row.channel };
      const collaborationMode = row.collaboration_mode ?? undefined;
      return { ref, session, promptMode: row.prompt_mode, collaborationMode, input: next.text };
    });
  }

  /** Records how a run ended; an agent that was closed meanwhile stays gone. */
  async finish(ref: AgentRef, end: { readonly reply: string } | { readonly error: string }): Promise<void> {
    const now = this.#now();
    const outcome =
      'reply' in end
        ? { status: 'idle', last_reply: end.reply, last_error: null, last_completed_at: now }
        : { status: 'failed', last_error: end.error };
    const ended = { ...outcome, current_input: null, owner_instance: null, updated_at: now };
    await this.#table(agents)
      .where({ ...whereOf(ref), status: 'running', owner_instance: this.#instance })
      .update(ended);
  }

  /** Removes an agent and its queue. @throws agent_not_found @returns it as it was */
  async remove(ref: AgentRef): Promise<SubAgent> {
    const agent = await this.get(ref);
    await this.#database.transaction(async (trx) => {
      await this.#table(inputs, trx).where(whereOf(ref)).delete();
      await this.#table(agents, trx).where(whereOf(ref)).delete();
    });
    return agent;
  }

  /** Marks the runs of processes that have ended. Their queues are kept. */
  async failOrphans(isAlive: (instance: string) => Promise<boolean>): Promise<void> {
    const rows: Row[] = await this.#table(agents).where({ status: 'running' });
    const owners = [...new Set(rows.map(({ owner_instance: owner }) => owner ?? ''))].filter(
      (one) => one !== this.#instance,
    );
    for (const owner of owners) {
      if (owner !== '' && (await isAlive(owner))) continue;
      const interrupted = { status: 'failed', last_error: 'interrupted', current_input: null, owner_instance: null };
      await this.#table(agents)
        .where({ status: 'running', owner_instance: owner })
        .update({ ...interrupted, updated_at: this.#now() });
    }
  }

  #table(name: string, trx?: Transaction) {
    return this.#database.query({ trx })(this.#database.table(name));
  }

  #shown(row: Row, pending: number): SubAgent {
    return {
      agent_id: row.agent_id,
      session_id: row.session_id,
      user_id: row.user_id,
      channel: row.channel,
      prompt_mode: row.prompt_mode,
      ...(row.collaboration_mode === null ? {} : { collaboration_mode: row.collaboration_mode }),
      depth: row.depth,
      status: row.status,
      pending_inputs: pending,
      ...(row.current_input === null ? {} : { current_input: row.current_input }),
      ...(row.last_reply === null ? {} : { last_reply: row.last_reply }),
      ...(row.last_error === null ? {} : { last_error: row.last_error }),
      created_at: this.#time(row.created_at),
      updated_at: this.#time(row.updated_at),
      ...(row.last_completed_at === null ? {} : { last_completed_at: this.#time(row.last_completed_at) }),
    };
  }

  /** RFC 3339 with whole seconds. */
  #time(millis: unknown): string {
    return `${new Date(this.#database.codec.parseInteger(millis)).toISOString().slice(0, 19)}Z`;
  }
}

function whereOf({ parentKey, agentId }: AgentRef) {
  return { parent_key: parentKey, agent_id: agentId };
}
