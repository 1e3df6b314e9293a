import { mayReveal } from 'mortise/contracts/envs';
import {
  type CallContext,
  type HttpService,
  listPage,
  mayConfigure,
  type Principal,
  type Refusal,
  type Route,
} from 'mortise/sdk';
import type { EnvStore } from './env-store.js';
import { envError } from './errors.js';

/** Variables in the form of the API. */
export function envList(values: Readonly<Record<string, string>>) {
  return Object.entries(values).map(([key, value]) => ({ key, value }));
}

export function listRoute(
  envs: EnvStore,
  http: Pick<HttpService, 'keyed' | 'adminKeyed'>,
  refused: (refusal: Refusal) => void,
): Route {
  return {
    async handle({ query }, ctx) {
      mayUse(ctx.principal);
      const asked = { limit: query.get('limit'), cursor: query.get('cursor') };
      const pageOf = (values: Readonly<Record<string, string>>) =>
        listPage(envList(values), ({ key }) => key, asked, ctx);
      if (query.get('reveal') !== 'true') return { body: pageOf(envs.masked()) };
      if (!mayReveal(ctx.principal, http)) {
        refused(refusalOf(ctx, 'GET /envs?reveal'));
        throw envError('reveal_forbidden');
      }
      await envs.audit({ operation: 'reveal', keys: [...envs.all().keys()] }, ctx);
      return { body: pageOf(Object.fromEntries(envs.all())) };
    },
  };
}

export function replaceRoute(envs: EnvStore): Route {
  return {
    async handle({ body }, ctx) {
      mayUse(ctx.principal);
      await envs.replaceAll(envs.parse(body), ctx);
      return { body: envList(envs.masked()) };
    },
  };
}

export function deleteRoute(envs: EnvStore): Route {
  return {
    async handle({ params: { key = '' } }, ctx) {
      mayUse(ctx.principal);
      if (!(await envs.delete(key, ctx))) throw envError('not_found', { details: { key } });
      return { body: envList(envs.masked()) };
    },
  };
}

/** The variables apply to all users, so a key that is bound to one user has no access. @throws forbidden */
export function mayUse(principal: Principal): void {
  if (!mayConfigure(principal)) throw envError('forbidden');
}

function refusalOf({ principal, correlationId }: CallContext, target: string): Refusal {
  return { reason: 'admin_required', subject: principal.id, target, correlationId };
}
