import { type CallContext, type Deadline, extendContext, type ToolContext } from 'mortise/sdk';
import { type LogLevel, type LogSink, teeLog } from './tools/tool-log.js';
import { demand } from './wire/capabilities.js';
import type { JsonObject } from './wire/json.js';

/** What the client of one request can be told and asked while the request runs. */
export interface ClientSide {
  /** What it declared it can do; undefined when it declared nothing at all. */
  readonly capabilities: JsonObject | undefined;
  /** Progress that the client asked for. */
  readonly progress?: ToolContext['progress'] | undefined;
  readonly log?: { readonly threshold: LogLevel; readonly sink: LogSink } | undefined;
  /** Asks the client, who may ask a person. Absent where nobody can be asked. */
  readonly ask?: ((request: JsonObject) => Promise<JsonObject>) | undefined;
}

/** The context of a contribution, with what its client can do for it. */
export function withClient<C extends CallContext>(ctx: C, client: ClientSide, deadline: Deadline | undefined) {
  const { ask, log } = client;
  return extendContext(ctx, {
    ...(log && { log: teeLog(ctx.log, log.threshold, log.sink) }),
    ...(client.progress && { progress: client.progress }),
    ...(ask && { requireInput: (request: JsonObject) => askAndWait(ask, request, deadline) }),
    requireCapability: (capability: string) => demand(client.capabilities ?? {}, capability.split('.')),
  });
}

/** A person's time is not the tool's. */
async function askAndWait(
  ask: (request: JsonObject) => Promise<JsonObject>,
  request: JsonObject,
  deadline: Deadline | undefined,
): Promise<JsonObject> {
  const resume = deadline?.pause();
  try {
    return await ask(request);
  } finally {
    resume?.();
  }
}
