import {
  type CallContext,
  type GenerateEvent,
  type GenerateRequest,
  type ProviderSettings,
  startDeadline,
} from 'mortise/sdk';
import { idleTimeout, providerError, timedOut } from './provider-error.js';

/** Limits of one call. */
export interface CallLimits {
  /** For the whole answer including retries, milliseconds; 0 = no limit. */
  readonly timeoutMs: number;
  /** Maximum pause of a stream, milliseconds. */
  readonly idleMs: number;
  /** Retries before the first byte of an answer. */
  readonly maxRetries: number;
}

/** The limits in a provider's settings, or the defaults of every adapter. */
export function callLimits({
  timeout_ms,
  idle_timeout_ms: idle,
  max_retries,
}: Pick<ProviderSettings, 'timeout_ms' | 'idle_timeout_ms' | 'max_retries'>): CallLimits {
  return {
    timeoutMs: timeout_ms ?? 0,
    idleMs: idle ?? 120_000,
    maxRetries: max_retries ?? 2,
  };
}

/** Minimum time limit for the head of an answer that is sent when it is complete, milliseconds. */
const wholeAnswerMs = 600_000;

/** The time limit for the head of an answer. A stream or a count sends its head at once, so the limit for pauses applies. */
export function headLimit({ idleMs }: CallLimits, startsAtOnce: boolean): number {
  return startsAtOnce ? idleMs : Math.max(idleMs, wholeAnswerMs);
}

/**
 * Waits for the head of an answer.
 * @throws provider_request_failed with the cause `idle_timeout`, or what `send` throws
 */
export async function withinHeadLimit<T>(
  limitMs: number,
  signal: AbortSignal,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), limitMs);
  try {
    return await send(AbortSignal.any([signal, silence.signal]));
  } catch (error) {
    signal.throwIfAborted();
    throw silence.signal.aborted ? providerError('provider_request_failed', undefined, { cause: idleTimeout }) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** The characters allowed in a key: those of a header without spaces. */
const keyCharacters = /^[\x21-\x7e]+$/;

/** The key in the form of a header. @throws provider_not_configured */
export function checkKey(apiKey: string | undefined): string {
  const key = apiKey?.trim() ?? '';
  if (key === '') throw providerError('provider_not_configured');
  if (keyCharacters.test(key)) return key;
  throw providerError('provider_not_configured', 'provider api_key has characters that are not allowed in a header');
}

/**
 * Runs one answer within its time limit, which includes retries.
 * @param timeoutMs 0 = no limit
 */
export async function* withinTimeout(
  { model }: Pick<GenerateRequest, 'model'>,
  timeoutMs: number,
  { signal }: Pick<CallContext, 'signal'>,
  answer: (signal: AbortSignal) => AsyncIterable<GenerateEvent>,
): AsyncGenerator<GenerateEvent> {
  if (model.trim() === '') {
    throw providerError('provider_not_configured', 'model is required for active provider');
  }
  const deadline = startDeadline(timeoutMs, signal);
  try {
    yield* answer(deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.expired) throw error;
    throw timedOut();
  } finally {
    deadline.close();
  }
}

/**
 * Runs one request within its time limit, which includes retries.
 * @param timeoutMs 0 = no limit
 */
export async function withinTimeLimit<T>(
  timeoutMs: number,
  caller: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = startDeadline(timeoutMs, caller);
  try {
    return await run(deadline.signal);
  } catch (error) {
    caller.throwIfAborted();
    throw deadline.expired ? timedOut() : error;
  } finally {
    deadline.close();
  }
}
