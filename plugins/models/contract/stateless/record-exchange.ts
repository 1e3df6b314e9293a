import {
  channelNamePattern,
  nameProblem,
  type SessionRef,
  type SessionsService,
  sessionNameLimits,
} from 'mortise/contracts/sessions';
import { boundUser, type CallContext, isCodedError, type Logger, type ModelMessage, type Principal } from 'mortise/sdk';
import { textOfMessage } from '../answer-events.js';
import type { ModelSlot } from '../models.js';
import type { AnswerUsage } from './answer.js';
import { invalidField, statelessError } from './errors.js';

/** An exchange that becomes a turn of a session. */
export interface RecordedExchange {
  readonly session: SessionRef;
  /** Texts of the user. */
  readonly input: readonly string[];
  readonly reply: string;
  readonly model: ModelSlot;
  readonly usage: AnswerUsage;
}

/** The user of recorded exchanges without a user. */
const defaultUser = 'claude-compat-user';
const defaultChannel = 'console';

/**
 * The session that a request asks to be recorded in; undefined without a session id.
 *
 * @throws invalid_request for names that no session can have, forbidden for another user than that of a bound principal
 */
export function sessionToRecord(
  metadata: Readonly<Record<string, unknown>>,
  sessionId: unknown,
  principal: Principal,
): SessionRef | undefined {
  if (typeof sessionId !== 'string') return undefined;
  const bound = boundUser(principal);
  const { user_id: named, channel: namedChannel } = metadata;
  const userId = typeof named === 'string' ? named : (bound ?? defaultUser);
  const channel = typeof namedChannel === 'string' ? namedChannel.toLowerCase() : defaultChannel;
  if (bound !== undefined && userId !== bound) throw statelessError('forbidden');
  checkName(sessionId, sessionNameLimits.sessionId, 'session_id');
  checkName(userId, sessionNameLimits.userId, 'user_id');
  if (!channelNamePattern.test(channel)) throw invalidField('metadata.channel is not valid', 'metadata.channel');
  return { channel, userId, sessionId };
}

function checkName(text: string, limit: number, name: string): void {
  if (text !== '' && nameProblem(text, limit) === undefined) return;
  throw invalidField(`metadata.${name} is not valid`, `metadata.${name}`);
}

/**
 * The texts of the user since the last answer. A message of the assistant that calls tools is not an answer: the exchange
 * continues with their results.
 */
export function newUserTexts(messages: readonly ModelMessage[]): readonly string[] {
  const last = messages.findLastIndex(({ role, toolCalls }) => role === 'assistant' && !toolCalls?.length);
  return messages
    .slice(last + 1)
    .filter(({ role }) => role === 'user')
    .map(textOfMessage)
    .filter((text) => text !== '');
}

/** Milliseconds that recording waits for a session in use. */
const waitMs = 30_000;

/** Records exchanges in the background: a failure is only logged, and the client never waits for it. */
export class ExchangeRecorder {
  readonly #sessions: { readonly current: SessionsService | undefined };
  readonly #log: Logger;
  readonly #running = new Set<Promise<void>>();

  constructor(sessions: { readonly current: SessionsService | undefined }, log: Logger) {
    this.#sessions = sessions;
    this.#log = log;
  }

  record(exchange: RecordedExchange, { correlationId, trace }: CallContext): void {
    const { current } = this.#sessions;
    if (!current || (exchange.input.length === 0 && exchange.reply === '')) return;
    const running = store(current, exchange, correlationId, trace.traceId)
      .catch((error: unknown) => {
        const code = isCodedError(error) ? error.code : 'internal_error';
        this.#log.warn({ code, correlation_id: correlationId }, 'an exchange was not recorded');
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when nothing is being recorded. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

async function store(
  sessions: SessionsService,
  { session, input, reply, model, usage }: RecordedExchange,
  correlationId: string,
  traceId: string,
): Promise<void> {
  const opened = await sessions.openTurn(
    {
      session,
      input: input.map((content) => ({ role: 'user', content })),
      providerId: model.providerId,
      model: model.model,
      correlationId,
      traceId,
    },
    { waitMs },
  );
  if (opened.kind !== 'open') throw statelessError('invalid_request', { message: 'the session is in use' });
  await opened.turn.close({
    status: 'completed',
    messages: reply === '' ? [] : [{ role: 'assistant', content: reply }],
    providerId: model.providerId,
    model: model.model,
    steps: 1,
    ...(usage ? { usage: { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens } } : {}),
  });
}
