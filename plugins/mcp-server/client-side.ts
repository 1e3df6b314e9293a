import type { CallContext, Deadline, Logger, Principal, ToolContext, TraceContext } from 'mortise/sdk';
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

/**
 * The context of a call, with what its client can do for it. A class of its own, because every call gets one: an object
 * that inherits from the call itself costs several times as much.
 */
export class ClientContext implements CallContext {
  readonly progress: ToolContext['progress'];
  readonly requireInput: ToolContext['requireInput'];
  readonly requireCapability: (capability: string) => void;
  readonly #call: CallContext;
  readonly #client: ClientSide;
  #log: Logger | undefined;

  constructor(call: CallContext, client: ClientSide, deadline?: Deadline) {
    const { ask, progress } = client;
    this.#call = call;
    this.#client = client;
    this.progress = progress;
    this.requireInput = ask && ((request) => askAndWait(ask, request, deadline));
    this.requireCapability = (capability) => demand(client.capabilities ?? {}, capability.split('.'));
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get log(): Logger {
    const { log } = this.#client;
    this.#log ??= log === undefined ? this.#call.log : teeLog(this.#call.log, log.threshold, log.sink);
    return this.#log;
  }

  get principal(): Principal {
    return this.#call.principal;
  }

  get requestId(): string {
    return this.#call.requestId;
  }

  get correlationId(): string {
    return this.#call.correlationId;
  }

  get trace(): TraceContext {
    return this.#call.trace;
  }
}

// Every call gets one: a plugin must not change the contexts of others.
Object.freeze(ClientContext.prototype);

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
