import { setTimeout as sleep } from 'node:timers/promises';
import type { TurnEvent, TurnRequest, TurnResult } from 'mortise/contracts/agent';
import { configOfChannel, isChannelEnabled } from 'mortise/contracts/channels';
import type { HandlerContext } from 'mortise/contracts/conversation';
import type { SessionRef } from 'mortise/contracts/sessions';
import { type CallContext, callOptions, isCodedError } from 'mortise/sdk';
import { agentError, failureOf } from './errors.js';
import type { LiveTurn } from './live-turn.js';
import type { TurnDeps } from './turn-deps.js';

/** Milliseconds that a channel may continue after the caller disconnected: the turn is complete, only its reply is not sent. */
const graceMs = 4_000;

interface Dispatch {
  readonly session: SessionRef;
  readonly text: string;
  /** The same for every retry of a send. */
  readonly deliveryId: string;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Sends the reply of a complete turn to its caller, to egress and watchers of the session, and to the session's channel.
 * The turn is stored already; a failure of the channel is reported next to the result.
 */
export async function sendReply(
  deps: TurnDeps,
  { turn, usage }: LiveTurn,
  request: TurnRequest,
  completed: Extract<TurnEvent, { type: 'completed' }>,
  ctx: HandlerContext,
): Promise<TurnResult> {
  const { reply } = completed;
  const result = { kind: 'completed', turnId: turn.turnId, reply, usage } as const;
  await ctx.port?.send(completed);
  const { session } = turn.chat;
  const answered = ctx.port || request.dispatch ? { answered_by: session.channel } : {};
  publishReply({ text: reply, metadata: { turn_id: turn.turnId, ...answered } }, ctx);
  if (!request.dispatch) return result;
  try {
    const { deliveryId = turn.turnId, config } = request.dispatch;
    await dispatchReply(deps, { session, text: reply, deliveryId, config }, ctx);
    return result;
  } catch (error) {
    return { ...result, dispatchError: failureOf(error) };
  }
}

/** Publishes a reply to egress and the watchers of the session. It starts no turn. */
export function publishReply(
  { text, metadata }: { readonly text: string; readonly metadata?: Readonly<Record<string, unknown>> },
  ctx: HandlerContext,
): void {
  ctx.publish({
    source_name: 'agent:speaker',
    source_kind: 'internal',
    ingress: 'internal',
    actor: { actor_type: 'system', actor_id: 'agent' },
    payload: { text },
    metadata: { direction: 'outbound', ...metadata },
  });
}

/** The configuration of a channel. @throws channel_not_supported, channel_disabled */
export function usableChannel(
  { channels, channelConfigs }: Pick<TurnDeps, 'channels' | 'channelConfigs'>,
  name: string,
): Readonly<Record<string, unknown>> {
  const channel = channels.current.get(name);
  if (!channel) throw agentError('channel_not_supported', { message: `channel "${name}" is not supported` });
  const config = configOfChannel(channel, channelConfigs());
  if (!isChannelEnabled(config)) {
    throw agentError('channel_disabled', { message: `channel "${name}" is disabled` });
  }
  return config;
}

/**
 * Sends a reply through the session's channel.
 *
 * @throws channel_dispatch_failed
 */
export async function dispatchReply(
  deps: Pick<TurnDeps, 'points' | 'channels' | 'channelConfigs'>,
  { session, text, deliveryId, config }: Dispatch,
  ctx: CallContext,
): Promise<void> {
  const ended = new AbortController();
  const grace = new AbortController();
  const startGrace = (): void => {
    sleep(graceMs, undefined, { signal: ended.signal }).then(
      () => grace.abort(agentError('client_closed')),
      () => undefined,
    );
  };
  if (ctx.signal.aborted) startGrace();
  else ctx.signal.addEventListener('abort', startGrace, { once: true });
  try {
    const message = {
      userId: session.userId,
      sessionId: session.sessionId,
      text,
      config: { ...usableChannel(deps, session.channel), ...config },
      deliveryId,
    };
    await deps.points.call('channel', session.channel, (channel, call) => channel.sendText(message, call), {
      ...callOptions(ctx),
      signal: grace.signal,
    });
  } catch (error) {
    const message = isCodedError(error) ? error.message : 'the channel failed';
    ctx.log.warn({ channel: session.channel, code: 'channel_dispatch_failed' }, 'a channel did not accept a reply');
    throw agentError('channel_dispatch_failed', { message, cause: error });
  } finally {
    ended.abort('ended');
    ctx.signal.removeEventListener('abort', startGrace);
  }
}
