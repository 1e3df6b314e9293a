import { mayReveal } from 'mortise/contracts/envs';
import {
  type CallContext,
  type HttpService,
  type JsonObject,
  mayConfigure,
  type Principal,
  type Refusal,
  type Route,
} from 'mortise/sdk';
import type { ChannelStore } from './channel-store.js';
import { channelError } from './errors.js';

/** Decides whether a caller who asked for secrets in clear gets them, and records it. @throws forbidden */
type Reveal = (query: URLSearchParams, names: readonly string[], ctx: CallContext) => Promise<boolean>;

export function revealRule(
  channels: ChannelStore,
  http: Pick<HttpService, 'keyed' | 'adminKeyed'>,
  refused: (refusal: Refusal) => void,
): Reveal {
  return async (query, names, ctx) => {
    if (query.get('reveal') !== 'true') return false;
    if (!mayReveal(ctx.principal, http)) {
      const { principal, correlationId } = ctx;
      const target = 'GET /config/channels?reveal';
      refused({ reason: 'admin_required', subject: principal.id, target, correlationId });
      throw channelError('reveal_forbidden');
    }
    await channels.audit({ operation: 'reveal', names }, ctx);
    return true;
  };
}

/** The configurations of all channels by name, secrets masked. */
export function maskedConfigs(channels: ChannelStore): Readonly<Record<string, JsonObject>> {
  return configsBy(channels, channels.masked);
}

export function listRoute(channels: ChannelStore, reveal: Reveal): Route {
  return {
    async handle({ query }, ctx) {
      mayUse(ctx.principal);
      const isRevealed = await reveal(query, channels.types(), ctx);
      return { body: isRevealed ? configsBy(channels, channels.config) : maskedConfigs(channels) };
    },
  };
}

export function replaceRoute(channels: ChannelStore): Route {
  return {
    async handle({ body }, ctx) {
      mayUse(ctx.principal);
      await channels.replaceAll(await channels.parse(body, ctx), ctx);
      return { body: maskedConfigs(channels) };
    },
  };
}

/** Names are not secret: every caller may see them. */
export function typesRoute(channels: ChannelStore): Route {
  return { handle: () => ({ body: channels.types() }) };
}

export function getRoute(channels: ChannelStore, reveal: Reveal): Route {
  return {
    async handle({ params, query }, ctx) {
      mayUse(ctx.principal);
      const name = nameOf(params);
      const masked = channels.masked(name);
      if (!masked) throw channelError('not_found', { details: { channels: channels.types() } });
      return { body: (await reveal(query, [name], ctx)) ? channels.config(name) : masked };
    },
  };
}

export function setRoute(channels: ChannelStore): Route {
  return {
    async handle({ params, body }, ctx) {
      mayUse(ctx.principal);
      const name = nameOf(params);
      await channels.replace(name, await channels.parseOne(name, body, ctx), ctx);
      return { body: channels.masked(name) };
    },
  };
}

function nameOf({ name = '' }: Readonly<Record<string, string | undefined>>): string {
  return name.toLowerCase();
}

function configsBy(channels: ChannelStore, read: (name: string) => JsonObject | undefined) {
  return Object.fromEntries(channels.types().map((name) => [name, read(name) ?? {}]));
}

/** Channels serve all users, so a key that is bound to one user may not see or change their settings. @throws forbidden */
export function mayUse(principal: Principal): void {
  if (!mayConfigure(principal)) throw channelError('forbidden');
}
