import type { InputRequestChange } from 'mortise/contracts/agent';
import type { Egress, EgressFacts } from 'mortise/contracts/conversation';
import type { SessionRef, SessionsService } from 'mortise/contracts/sessions';
import type { Observation } from 'mortise/sdk';

/** A reply in a session. */
export interface Reply {
  readonly kind: 'message';
  readonly sessionKey: string;
  /** Absent when the reply is not part of a turn. */
  readonly turnId?: string;
  readonly obsId: string;
  readonly traceId: string;
  /** Absent when it is too long for an announcement: it is read from the turn. */
  readonly text?: string;
}

/** A question of a turn, or its end. Without the questions when they are too long for an announcement. */
interface Question extends Omit<InputRequestChange, 'questions'> {
  readonly kind: 'question';
  readonly questions?: InputRequestChange['questions'];
}

export type Push = Reply | Question;

/** Sends a push to all sockets of this process that watch its session; a reply not to the socket that requested it. */
export async function pushToWatchers(
  watchers: Watchers,
  sessions: Pick<SessionsService, 'getTurn'>,
  push: Push,
): Promise<void> {
  const turnId = push.kind === 'message' ? push.turnId : undefined;
  const watches = watchers
    .of(push.sessionKey)
    .filter(([watcher]) => turnId === undefined || !watcher.requested(turnId));
  if (watches.length === 0) return;
  const facts = push.kind === 'message' ? await messageFacts(push, sessions) : questionFacts(push);
  if (!facts) return;
  for (const [watcher, { id, session }] of watches) {
    watcher.send(id, { type: 'event', id, data: { kind: push.kind, session_id: session.sessionId, ...facts } });
  }
}

async function messageFacts(
  { turnId, obsId, traceId, text }: Reply,
  sessions: Pick<SessionsService, 'getTurn'>,
): Promise<object | undefined> {
  const content = text ?? (turnId === undefined ? undefined : (await sessions.getTurn(turnId))?.reply);
  if (!content) return undefined;
  return { role: 'assistant', content, obs_id: obsId, trace_id: traceId };
}

function questionFacts({ turnId, requestId, state, questions }: Question): object {
  return { turn_id: turnId, request_id: requestId, state, questions: questions ?? null };
}

/** A socket that watches sessions. */
export interface Watcher {
  /** Whether the turn was requested on this socket, which then has the reply already. */
  requested(turnId: string): boolean;
  send(id: string, frame: object): void;
}

interface Watch {
  readonly id: string;
  readonly session: SessionRef;
}

/** The sockets of this process that watch sessions, by session. */
export class Watchers {
  readonly #bySession = new Map<string, Map<Watcher, Watch>>();

  /** A second watch of the same session by the same socket replaces the first. */
  add(sessionKey: string, watcher: Watcher, watch: Watch): void {
    const watches = this.#bySession.get(sessionKey) ?? new Map<Watcher, Watch>();
    watches.set(watcher, watch);
    this.#bySession.set(sessionKey, watches);
  }

  remove(sessionKey: string, watcher: Watcher): void {
    const watches = this.#bySession.get(sessionKey);
    watches?.delete(watcher);
    if (watches?.size === 0) this.#bySession.delete(sessionKey);
  }

  of(sessionKey: string): readonly (readonly [Watcher, Watch])[] {
    return [...(this.#bySession.get(sessionKey) ?? [])];
  }
}

/** The egress adapter for sockets that watch a session. */
export function socketEgress(facts: EgressFacts, announce: (push: Push) => Promise<void>): Egress {
  return { ...facts, send: (observation) => announce(replyOf(observation)) };
}

function replyOf({ session_key, obs_id, trace_id, payload, metadata }: Observation): Reply {
  return {
    kind: 'message',
    sessionKey: session_key ?? '',
    ...(typeof metadata.turn_id === 'string' ? { turnId: metadata.turn_id } : {}),
    obsId: obs_id,
    traceId: trace_id,
    text: typeof payload.text === 'string' ? payload.text : '',
  };
}
