import type { InputRequestChange } from 'mortise/contracts/agent';
import type { ToolContext } from 'mortise/sdk';
import { planError } from '../errors.js';
import type { Answers, InputRequests, Question } from './input-requests.js';

export interface AskDeps {
  readonly requests: InputRequests;
  /** Announces the question and its end. */
  readonly announce: (change: InputRequestChange) => void;
  /** Resolves when the question may have been answered. */
  readonly changed: (requestId: string, signal: AbortSignal) => Promise<void>;
}

interface AskRequest {
  readonly request_id?: string;
  readonly questions: readonly Question[];
}

const waitMs = 15 * 60_000;

/**
 * `request_user_input`: stores the questions and waits until they are answered, on this or another replica.
 *
 * @throws tool_not_available, invalid_tool_input, tool_conflict, tool_timeout
 */
export async function ask({ request_id, questions }: AskRequest, ctx: ToolContext, deps: AskDeps): Promise<object> {
  const { session, callId, signal } = ctx;
  const requestId = request_id ?? callId;
  if (!session || requestId === undefined) throw planError('tool_not_available', 'only a turn can ask its user');
  if (new Set(questions.map(({ id }) => id)).size < questions.length) {
    throw planError('invalid_tool_input', 'the ids of the questions must be unique');
  }
  await deps.requests.open(requestId, session, questions, waitMs);
  const announce = (state: InputRequestChange['state']) =>
    deps.announce({
      sessionKey: session.key,
      turnId: session.turnId,
      requestId,
      state,
      questions: questions.map((question) => ({ ...question })),
    });
  announce('pending');
  try {
    const answers = await untilAnswered(requestId, signal, deps);
    announce('answered');
    return { request_id: requestId, answers };
  } catch (error) {
    if (await deps.requests.expire(requestId)) announce('expired');
    throw error;
  }
}

async function untilAnswered(requestId: string, signal: AbortSignal, deps: AskDeps): Promise<Answers> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const answers = await deps.requests.answersOf(requestId);
    if (answers) return answers;
    signal.throwIfAborted();
    if (performance.now() >= deadline) throw planError('tool_timeout');
    await deps.changed(requestId, signal);
  }
}

/** Notifications may be lost: the row is read this often anyway. */
const pollMs = 1_000;

/** Wakes those who wait for an answer. */
export class AnswerWaiters {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** @param requestId undefined: any question may have been answered */
  wake(requestId: string | undefined): void {
    const sets = requestId === undefined ? [...this.#waiting.values()] : [this.#waiting.get(requestId) ?? new Set()];
    for (const resolve of sets.flatMap((set) => [...set])) resolve();
  }

  /** Resolves when it is woken, at the next poll, or when the caller is gone. */
  wait(requestId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const set = this.#waiting.get(requestId) ?? new Set();
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        set.delete(done);
        if (set.size === 0) this.#waiting.delete(requestId);
        resolve();
      };
      const timer = setTimeout(done, pollMs);
      signal.addEventListener('abort', done, { once: true });
      this.#waiting.set(requestId, set.add(done));
      if (signal.aborted) done();
    });
  }
}
