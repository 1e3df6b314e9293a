import { setTimeout as sleep } from 'node:timers/promises';
import { type GuardedFetch, isCodedError, type JsonObject, type Logger } from 'mortise/sdk';
import type { AccessTokens } from '../access-tokens.js';
import { sendFailed } from '../errors.js';
import { askPlatform, refusalText } from '../platform-request.js';
import type { QqAccount } from '../qq-config.js';
import { type ConnectionEnd, type ResumePoint, runConnection } from './connection.js';

/** Direct messages of guilds, members, group and c2c messages, and mentions in guilds. */
export const defaultIntents = (1 << 30) | (1 << 12) | (1 << 25) | (1 << 1);
/** For bots without the right to direct and group messages. */
export const fallbackIntents = (1 << 30) | (1 << 1);

export interface WorkerDeps {
  readonly fetch: GuardedFetch;
  readonly tokens: AccessTokens;
  readonly log: Logger;
  readonly reconnectBaseMs: number;
  readonly receive: (name: string, envelope: JsonObject) => Promise<void>;
}

/** The connection as the state endpoint shows it. Times are ISO 8601, and empty before the first event. */
export interface WorkerState {
  connected: boolean;
  intents: number;
  intents_source: 'default' | 'configured' | 'fallback';
  gateway_url: string;
  last_connected_at: string;
  last_event_at: string;
  last_event_type: string;
  last_error: string;
  last_error_at: string;
}

const maxWaitMs = 30_000;

/** Keeps one connection to QQ open until the signal is aborted. Never rejects. */
export async function runWorker(
  deps: WorkerDeps,
  { account, intents }: { readonly account: QqAccount; readonly intents: number | undefined },
  state: WorkerState,
  signal: AbortSignal,
): Promise<void> {
  let resume: ResumePoint | undefined;
  let failures = 0;
  while (!signal.aborted) {
    const end = await connect(deps, account, state, resume, signal).catch((error: unknown) => failureOf(error));
    state.connected = false;
    if (signal.aborted) return;
    resume = 'resume' in end ? end.resume : resume;
    Object.assign(state, { last_error: end.reason, last_error_at: new Date().toISOString() });
    deps.log.warn({ reason: end.reason }, 'the connection to QQ ended and will be reopened');
    const isRefused = end.kind === 'invalid_session' || end.kind === 'intents_refused';
    if (isRefused && !end.wasReady && intents === undefined && state.intents_source === 'default') {
      Object.assign(state, { intents: fallbackIntents, intents_source: 'fallback' });
    }
    if (end.wasReady) failures = 0;
    if (end.kind === 'reconnect' && end.wasReady) continue;
    const waitMs = Math.min(deps.reconnectBaseMs * 2 ** failures, maxWaitMs) * (0.5 + 0.5 * Math.random());
    failures += 1;
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** A connection that could not be opened; the session can still be resumed. */
function failureOf(error: unknown): { kind: 'failed'; reason: string; wasReady: false } {
  const reason = isCodedError(error) ? error.message : 'the gateway of QQ could not be reached';
  return { kind: 'failed', reason, wasReady: false };
}

async function connect(
  { fetch, tokens, receive }: WorkerDeps,
  account: QqAccount,
  state: WorkerState,
  resume: ResumePoint | undefined,
  signal: AbortSignal,
): Promise<ConnectionEnd> {
  const token = await tokens.get(account, signal);
  const url = await gatewayUrl({ fetch, tokens }, account, token, signal);
  state.gateway_url = `${url.origin}${url.pathname}`;
  const end = await runConnection(fetch, {
    url,
    token,
    intents: state.intents,
    resume,
    timeoutMs: account.timeoutMs,
    signal,
    ready: () => Object.assign(state, { connected: true, last_connected_at: new Date().toISOString() }),
    receive: async (name, envelope) => {
      await receive(name, envelope);
      Object.assign(state, { last_event_at: new Date().toISOString(), last_event_type: name.slice(0, 64) });
    },
    malformed: () =>
      Object.assign(state, { last_error: 'QQ sent a malformed frame', last_error_at: new Date().toISOString() }),
  });
  // When the session is refused, the token may be the cause.
  if (end.kind === 'token_refused' || (end.kind === 'invalid_session' && !end.wasReady)) tokens.drop(account, token);
  return end;
}

/** The websocket address that QQ returns; it must be encrypted unless the API itself is not. */
async function gatewayUrl(
  { fetch, tokens }: Pick<WorkerDeps, 'fetch' | 'tokens'>,
  account: QqAccount,
  token: string,
  signal: AbortSignal,
): Promise<URL> {
  const { apiBase, timeoutMs } = account;
  const api = 'gateway API';
  const headers = { authorization: `QQBot ${token}` };
  const url = new URL(`${apiBase.href.replace(/\/+$/, '')}/gateway`);
  const answer = await askPlatform(fetch, { api, method: 'GET', url, headers, timeoutMs, isRepeatable: true }, signal);
  if (answer.status === 401) tokens.drop(account, token);
  if (answer.status < 200 || answer.status > 299) throw sendFailed(refusalText(api, answer));
  const named = typeof answer.body.url === 'string' ? URL.parse(answer.body.url) : null;
  const allowed = apiBase.protocol === 'https:' ? ['wss:'] : ['ws:', 'wss:'];
  if (!named || !allowed.includes(named.protocol)) throw sendFailed('qq gateway API returned no websocket address');
  return named;
}
