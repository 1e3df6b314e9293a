import type { PluginDefinition } from 'mortise/sdk';
import { inputRequests } from './migrations/0001-input-requests.js';
import { applyPatch } from './patch/apply-patch.js';
import { AnswerWaiters, type AskDeps, ask } from './questions/ask.js';
import { InputRequests } from './questions/input-requests.js';
import { answerRoute, listRoute } from './questions/routes.js';
import { updatePlan } from './update-plan.js';

/** Plans, questions and patches. */
export default function toolPlan(): PluginDefinition {
  return {
    key: 'tool-plan',
    async start(host) {
      const database = host.use('database');
      const sessions = host.use('sessions');
      const files = host.use('workspace-files');
      await database.migrate([inputRequests]);
      const requests = new InputRequests(database);
      const waiters = new AnswerWaiters();
      host.own(await requests.watch((requestId) => waiters.wake(requestId)));
      const questions: AskDeps = {
        requests,
        announce: (change) => host.emit('input-request', change),
        changed: (requestId, signal) => waiters.wait(requestId, signal),
      };
      host.contribute('tool', 'update_plan', {
        ...host.facts('tool', 'update_plan'),
        run: (args, ctx) => updatePlan(args as unknown as Parameters<typeof updatePlan>[0], ctx, sessions),
      });
      host.contribute('tool', 'request_user_input', {
        ...host.facts('tool', 'request_user_input'),
        run: (args, ctx) => ask(args as unknown as Parameters<typeof ask>[0], ctx, questions),
      });
      host.contribute('tool', 'apply_patch', {
        ...host.facts('tool', 'apply_patch'),
        normalise: ({ content, text, cwd, ...args }) => ({
          ...(cwd === undefined ? {} : { workdir: cwd }),
          ...((content ?? text) === undefined ? {} : { patch: content ?? text }),
          ...args,
        }),
        run: (args) => applyPatch(args as { patch: string; workdir?: string }, files),
      });
      host.contribute('route', 'answer-input', answerRoute(requests));
      host.contribute('route', 'list-input-requests', listRoute(requests));
    },
  };
}
