import type { Route } from 'mortise/sdk';
import type { Gateway } from '../gateway.js';
import { updateGovernance } from '../governance/update-governance.js';
import { queryMemories } from '../query/query-memories.js';
import { type StoreContext, storeMemory } from '../store/store-memory.js';
import { answerError, type ErrorShape } from './answer-error.js';
import { type CheckedTool, readBody } from './read-body.js';

type Json = Readonly<Record<string, unknown>>;

/** The REST form of a tool. */
interface RestTool extends ErrorShape {
  readonly name: string;
  run(args: Json, ctx: StoreContext, gateway: Gateway): Promise<object & { readonly warnings?: readonly string[] }>;
}

/** A route that reads the tool's arguments from the body and answers errors in the shape of the tool. */
function toolRoute(tool: RestTool, checked: CheckedTool, gateway: Gateway): Route {
  return {
    async handle(request, ctx) {
      try {
        gateway.http.admitToolCall(tool.name, ctx);
        const { args, warnings } = readBody(request.body, checked);
        const body = await tool.run(args, ctx, gateway);
        return { body: warnings.length === 0 ? body : { ...body, warnings: [...(body.warnings ?? []), ...warnings] } };
      } catch (error) {
        return answerError(error, ctx.correlationId, tool);
      }
    },
  };
}

const store: RestTool = {
  name: 'memory_store',
  run: storeMemory,
  invalid: { action: 'error' },
  unavailable: (error, correlationId) => ({
    ok: false,
    action: 'error',
    space_written: null,
    memory_id: null,
    evidence_refs: null,
    message: error.message,
    outbox_id: null,
    outbox_status: null,
    correlation_id: correlationId,
    reason: error.code,
    requested_space: null,
    final_space: null,
    dedup: false,
    error_code: error.code,
    retryable: error.retryable,
  }),
};

const query: RestTool = {
  name: 'memory_query',
  run: queryMemories,
  unavailable: (error, correlationId) => ({
    ok: false,
    results: [],
    total: 0,
    spaces_searched: [],
    message: error.message,
    degraded: true,
    correlation_id: correlationId,
    reason: error.code,
  }),
};

const governance: RestTool = {
  name: 'governance_update',
  run: updateGovernance,
  unavailable: (error, correlationId) => ({
    ok: false,
    action: 'error',
    settings: null,
    message: error.message,
    correlation_id: correlationId,
    reason: error.code,
  }),
};

/** `POST /memory/store` */
export const storeRoute = (checked: CheckedTool, gateway: Gateway): Route => toolRoute(store, checked, gateway);

/** `POST /memory/query` */
export const queryRoute = (checked: CheckedTool, gateway: Gateway): Route => toolRoute(query, checked, gateway);

/** `POST /governance/settings/update` */
export const governanceRoute = (checked: CheckedTool, gateway: Gateway): Route =>
  toolRoute(governance, checked, gateway);
