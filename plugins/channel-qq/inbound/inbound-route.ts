import { commandEvents, cutDeltas, restoreDeltas, type TurnEvent, type TurnPortEvent } from 'mortise/contracts/agent';
import {
  boundUser,
  type HttpService,
  isJsonObject,
  type JsonObject,
  MortiseError,
  type Refusal,
  type Route,
  type RouteContext,
  type RouteRequest,
  type RouteResponse,
} from 'mortise/sdk';
import { qqError } from '../errors.js';
import { type InboundConfig, readInbound, textOf } from '../qq-config.js';
import type { EventAnswer, Inbox } from './inbox.js';
import { isMessageEvent, readEvent } from './read-event.js';
import { isSignedByPlatform, signValidation } from './signature.js';

interface RouteDeps {
  readonly inbox: Inbox;
  readonly http: Pick<HttpService, 'keyed'>;
  readonly config: () => JsonObject;
  readonly now: () => number;
  readonly refused: (refusal: Refusal) => void;
}

/** Opcodes of QQ's callbacks. */
const validation = 13;
const acknowledged: RouteResponse = { body: { op: 12 } };

/**
 * `POST /channels/qq/inbound`. An event that QQ signed is stored and acknowledged immediately, because QQ repeats events that are
 * not answered within three seconds; others are answered with the reply.
 */
export function inboundRoute({ inbox, http, config, now, refused }: RouteDeps): Route {
  return {
    async handle(request, ctx) {
      const settings = readInbound(config());
      const isSigned = authenticate(settings, request, ctx);
      const { body } = request;
      if (!isJsonObject(body)) throw qqError('invalid_json');
      if (body.op === validation) return validated(settings, body);
      if (!settings.enabled) throw qqError('channel_disabled');
      // QQ also reports other events, which must be acknowledged or it repeats them.
      if (isSigned && typeof body.t === 'string' && !isMessageEvent(body.t)) return acknowledged;
      const event = readEvent(body);
      if (typeof event === 'string') return ignored(event, isSigned);
      const user = boundUser(ctx.principal);
      if (!isSigned && user !== undefined && user !== event.userId) throw qqError('actor_mismatch');
      const stored = await inbox.accept(event);
      if (!stored) return ignored('duplicate', isSigned);
      if (isSigned) {
        inbox.follow(stored);
        return acknowledged;
      }
      const events: TurnEvent[] = [];
      const answer = await inbox.answer(stored, ctx, {
        send: (sent) => {
          const { call: _, ...event } = sent as TurnPortEvent & { readonly call?: unknown };
          if (event.type !== 'opened') events.push(event as TurnEvent);
        },
      });
      return answered(answer, events);
    },
  };

  /** Whether QQ signed the request. @throws invalid_signature, unauthorized */
  function authenticate(settings: InboundConfig, { headers, rawBody }: RouteRequest, ctx: RouteContext): boolean {
    const { 'x-signature-ed25519': signature, 'x-signature-timestamp': timestamp } = headers;
    const isPresent = signature !== undefined || timestamp !== undefined;
    const signed = { signature: signature ?? '', timestamp: timestamp ?? '', rawBody };
    if (isPresent && isSignedByPlatform(settings.clientSecret, signed, now())) return true;
    const isKnown = http.keyed ? ctx.principal.authenticated : ctx.principal.loopback;
    const code =
      settings.signature === 'required' || (isPresent && settings.signature !== 'off')
        ? 'invalid_signature'
        : 'unauthorized';
    if (code === 'unauthorized' && isKnown) return false;
    const { principal, correlationId } = ctx;
    refused({ reason: 'auth_failed', subject: principal.id, target: '/channels/qq/inbound', correlationId });
    throw qqError(code);
  }
}

/** Shows QQ that the address belongs to the bot. */
function validated({ clientSecret }: InboundConfig, { d }: JsonObject): RouteResponse {
  const data = isJsonObject(d) ? d : {};
  const plainToken = textOf(data.plain_token);
  const eventTs = typeof data.event_ts === 'number' ? `${data.event_ts}` : textOf(data.event_ts);
  if (clientSecret === '') throw qqError('invalid_qq_event', { message: 'channel qq requires config.client_secret' });
  const signature = signValidation(clientSecret, eventTs, plainToken);
  if (signature === undefined) {
    throw qqError('invalid_qq_event', { message: 'the validation requires d.plain_token and d.event_ts' });
  }
  return { body: { plain_token: plainToken, signature } };
}

function ignored(reason: string, isSigned: boolean): RouteResponse {
  return isSigned ? acknowledged : { body: { accepted: false, reason } };
}

function answered(answer: EventAnswer, events: readonly TurnEvent[]): RouteResponse {
  switch (answer.kind) {
    case 'command':
      return { body: { reply: answer.reply, events: commandEvents(answer.reply) } };
    case 'sunk':
      return { status: 202, body: { accepted: true, reply: '', events: [], gate: answer.error.details ?? {} } };
    case 'failed':
      throw errorOf(answer.error);
    case 'turn': {
      const { result } = answer;
      if (result.kind === 'failed') throw errorOf(result.error);
      if (result.kind === 'completed' && result.dispatchError) throw errorOf(result.dispatchError);
      const { turnId, reply } = result;
      const known = result.kind === 'replayed' ? restoreDeltas(result.events, reply) : events;
      return { headers: { 'X-Turn-Id': turnId }, body: { reply, events: cutDeltas(known) } };
    }
  }
}

function errorOf({
  code,
  message,
  status,
  details,
  retryAfterSeconds,
}: Extract<EventAnswer, { kind: 'failed' }>['error']) {
  return new MortiseError(code, message, {
    status,
    ...(details && { details }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}
