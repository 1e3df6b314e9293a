import type { InputRequestChange } from 'mortise/contracts/agent';
import type { SessionsService } from 'mortise/contracts/sessions';
import type { Watchers } from './watchers.js';

/** What was said in a session. */
export interface Reply {
  readonly kind: 'message';
  readonly sessionKey: string;
  /** Absent when no turn said it. */
  readonly turnId?: string;
  readonly obsId: string;
  readonly traceId: string;
  /** Absent when it is too long for an announcement: the turn has it. */
  readonly text?: string;
}

/** What a turn asks people, or asks no more. Without the questions when they are too long for an announcement. */
export interface Question extends Omit<InputRequestChange, 'questions'> {
  readonly kind: 'question';
  readonly questions?: InputRequestChange['questions'];
}

export type Push = Reply | Question;

/** Sends it to all sockets of this process that watch its session; a reply not to the socket that asked for it. */
export async function pushToWatchers(
  watchers: Watchers,
  sessions: Pick<SessionsService, 'getTurn'>,
  push: Push,
): Promise<void> {
  const answers = push.kind === 'message' ? push.turnId : undefined;
  const watches = watchers.of(push.sessionKey).filter(([watcher]) => answers === undefined || !watcher.asked(answers));
  if (watches.length === 0) return;
  const facts = push.kind === 'message' ? await messageFacts(push, sessions) : questionFacts(push);
  if (!facts) return;
  for (const [watcher, { id, session }] of watches) {
    watcher.push(id, { type: 'event', id, data: { kind: push.kind, session_id: session.sessionId, ...facts } });
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
