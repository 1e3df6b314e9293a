import { type CallContext, CallView, type Deadline, type Logger, type ToolContext } from 'mortise/sdk';
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

/** The context of a call, with what its client can do for it. */
export class ClientContext extends CallView {
  readonly progress: ToolContext['progress'];
  readonly requireInput: ToolContext['requireInput'];
  readonly requireCapability: (capability: string) => void;
  readonly #told: ClientSide['log'];
  #log: Logger | undefined;

  constructor(call: CallContext, client: ClientSide, deadline?: Deadline) {
    super(call);
    const { ask, capabilities, log, progress } = client;
    this.#told = log;
    this.progress = progress;
    this.requireInput = ask && ((request) => askAndWait(ask, request, deadline));
    this.requireCapability = (capability) => demand(capabilities ?? {}, capability.split('.'));
  }

  override get log(): Logger {
    this.#log ??= this.#told ? teeLog(super.log, this.#told.threshold, this.#told.sink) : super.log;
    return this.#log;
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
