import type { Route } from 'mortise/sdk';
import { collectBootstrap, readBootstrap, startBootstrap, streamBootstrap } from './bootstrap.js';
import type { SelfOps } from './self-ops.js';

export function bootstrapRoute({ deps }: SelfOps): Route {
  return {
    async handle({ body, headers }, ctx) {
      const request = readBootstrap(body, headers['idempotency-key']);
      const running = await startBootstrap(deps, request, ctx, (name, value) => ctx.setHeader(name, value));
      if (request.stream) return { stream: await streamBootstrap(deps, running), sse: true };
      const answer = await collectBootstrap(deps, running);
      return answer.gate ? { status: 202, body: { accepted: true, ...answer } } : { body: answer };
    },
  };
}

export function sessionModelRoute(ops: SelfOps): Route {
  return {
    handle: async ({ params, body }, ctx) => ({
      body: await ops.setSessionModel(params.session_id ?? '', body, ctx),
    }),
  };
}

export function previewRoute(ops: SelfOps): Route {
  return { handle: async ({ body }, ctx) => ({ body: await ops.preview(body, ctx) }) };
}

export function applyRoute(ops: SelfOps): Route {
  return { handle: async ({ body }, ctx) => ({ body: await ops.apply(body, ctx) }) };
}
