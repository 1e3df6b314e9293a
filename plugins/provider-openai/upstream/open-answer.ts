import type { OpenAI } from 'openai';
import type { RequestBody } from '../request/request-body.js';
import { BodyReader } from './body-reader.js';

/** An answer whose first bytes are there. */
export interface OpenAnswer {
  /** Whether the answer comes as a stream of events: an API may do otherwise than it was asked to. */
  readonly streams: boolean;
  /** Undefined when the body is empty. */
  readonly first: Uint8Array | undefined;
  /** Undefined when there is no body. */
  readonly reader: BodyReader | undefined;
}

const isEvents = (type: string): boolean => /^text\/event-stream\b/i.test(type);
const isJson = (type: string): boolean => /^application\/(?:[\w.-]+\+)?json\b/i.test(type);

export interface RequestLimits {
  readonly signal: AbortSignal;
  /** How long the body may be silent, milliseconds. */
  readonly idleMs: number;
}

/**
 * One request, up to the first byte of its answer.
 * @throws what the SDK or the connection throws; provider_request_failed when the body is silent for too long
 */
export async function openAnswer(
  client: OpenAI,
  body: RequestBody,
  { signal, idleMs }: RequestLimits,
): Promise<OpenAnswer> {
  const headers = body.stream ? { Accept: 'text/event-stream' } : {};
  const response = await client.chat.completions.create(body, { signal, headers }).asResponse();
  const type = response.headers.get('content-type') ?? '';
  const streams = isEvents(type) || (body.stream === true && !isJson(type));
  if (response.body === null) return { streams, first: undefined, reader: undefined };
  const reader = new BodyReader(response.body, idleMs);
  try {
    return { streams, first: await reader.read(), reader };
  } catch (error) {
    await reader.close();
    throw error;
  }
}
