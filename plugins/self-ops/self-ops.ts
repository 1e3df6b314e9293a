import type { CallContext } from 'mortise/sdk';
import {
  type BootstrapAnswer,
  type BootstrapDeps,
  collectBootstrap,
  readBootstrap,
  startBootstrap,
} from './bootstrap.js';
import { applyMutation } from './mutations/apply-mutation.js';
import { type MutationDeps, previewMutation } from './mutations/preview-mutation.js';
import { type SessionModelDeps, setSessionModel } from './session-model.js';

type SelfOpsDeps = BootstrapDeps & SessionModelDeps & MutationDeps;

/** The four operations, for routes, commands and the tool alike. */
export interface SelfOps {
  readonly deps: SelfOpsDeps;
  bootstrap(body: unknown, ctx: CallContext): Promise<BootstrapAnswer>;
  setSessionModel(sessionId: string, body: unknown, ctx: CallContext): ReturnType<typeof setSessionModel>;
  preview(body: unknown, ctx: CallContext): ReturnType<typeof previewMutation>;
  apply(body: unknown, ctx: CallContext): ReturnType<typeof applyMutation>;
}

export function selfOps(deps: SelfOpsDeps): SelfOps {
  return {
    deps,
    async bootstrap(body, ctx) {
      const running = await startBootstrap(deps, { ...readBootstrap(body, undefined), stream: false }, ctx);
      return collectBootstrap(deps, running);
    },
    setSessionModel: (sessionId, body, ctx) => setSessionModel(deps, sessionId, body, ctx),
    preview: (body, ctx) => previewMutation(deps, body, ctx),
    apply: (body, ctx) => applyMutation(deps, body, ctx),
  };
}
