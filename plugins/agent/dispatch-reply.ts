import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionRef } from 'mortise/contracts/sessions';
import { type CallContext, isCodedError, type Points } from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import { agentError } from './errors.js';

/** How long a channel may go on after the caller has left, milliseconds: the turn is complete, only its reply is on the way. */
const graceMs = 4_000;

export interface Dispatch {
  readonly session: SessionRef;
  readonly text: string;
  /** Equal for every repeat of one send. */
  readonly deliveryId: string;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

/** @throws channel_not_supported, channel_disabled */
export function usableChannel(
  channels: ActiveContributions<'channel'>,
  name: string,
): Readonly<Record<string, unknown>> {
  const channel = channels.get(name);
  if (!channel) throw agentError('channel_not_supported', { message: `channel "${name}" is not supported` });
  const config = channel.facts.defaults ?? {};
  if (config.enabled === false) {
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
  points: Points,
  channels: ActiveContributions<'channel'>,
  dispatch: Dispatch,
  ctx: CallContext,
): Promise<void> {
  const { session, text, deliveryId } = dispatch;
  const ended = new AbortController();
  const grace = new AbortController();
  const lateEnd = (): void => {
    sleep(graceMs, undefined, { signal: ended.signal }).then(
      () => grace.abort(agentError('client_closed')),
      () => undefined,
    );
  };
  if (ctx.signal.aborted) lateEnd();
  else ctx.signal.addEventListener('abort', lateEnd, { once: true });
  try {
    const config = { ...usableChannel(channels, session.channel), ...dispatch.config };
    const message = { userId: session.userId, sessionId: session.sessionId, text, config, deliveryId };
    await points.call('channel', session.channel, (channel, call) => channel.sendText(message, call), {
      signal: grace.signal,
      principal: ctx.principal,
      requestId: ctx.requestId,
      correlationId: ctx.correlationId,
      trace: ctx.trace,
    });
  } catch (error) {
    const cause = isCodedError(error) ? error.message : 'the channel failed';
    ctx.log.warn({ channel: session.channel, code: 'channel_dispatch_failed' }, 'a reply was not taken by its channel');
    throw agentError('channel_dispatch_failed', { message: cause, cause: error });
  } finally {
    ended.abort('ended');
    ctx.signal.removeEventListener('abort', lateEnd);
  }
}
