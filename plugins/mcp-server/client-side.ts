import {
  type CallContext,
  CallView,
  type Deadline,
  type JsonObject,
  type Logger,
  redactSecrets,
  type ToolContext,
} from 'mortise/sdk';
import { requireCapability } from './wire/capabilities.js';
import { type LogLevel, logLevels } from './wire/protocol.js';

/** The client of one request: what it declared, and how to reach it while the request runs. */
export interface ClientSide {
  /** Declared capabilities; undefined when the client declared none. */
  readonly capabilities: JsonObject | undefined;
  /** Sends progress; present when the client asked for it. */
  readonly progress?: ToolContext['progress'] | undefined;
  /** Ends the connection of the request, to which the client comes back; absent where it cannot. */
  readonly release?: (() => void) | undefined;
  readonly log?: { readonly threshold: LogLevel; readonly sink: LogSink } | undefined;
  /** Asks the client, who may ask a person; absent where the client cannot be asked. */
  readonly ask?: ((request: JsonObject) => Promise<JsonObject>) | undefined;
}

type LogSink = (level: LogLevel, message: string) => void;

/** The context of a call, with the functions that reach its client. */
export class ClientContext extends CallView {
  readonly progress: ToolContext['progress'];
  readonly releaseStream: ToolContext['releaseStream'];
  readonly requireInput: ToolContext['requireInput'];
  readonly requireCapability: (capability: string) => void;
  readonly #clientLog: ClientSide['log'];
  #log: Logger | undefined;

  constructor(call: CallContext, client: ClientSide, deadline?: Deadline) {
    super(call);
    const { ask, capabilities, log, progress, release } = client;
    this.#clientLog = log;
    this.progress = progress;
    this.releaseStream = release;
    this.requireInput = ask && ((request) => askAndWait(ask, request, deadline));
    this.requireCapability = (capability) => requireCapability(capabilities, capability.split('.'));
  }

  override get log(): Logger {
    this.#log ??= this.#clientLog ? teeLog(super.log, this.#clientLog.threshold, this.#clientLog.sink) : super.log;
    return this.#log;
  }
}

// All calls share the prototype: a plugin must not change the contexts of others.
Object.freeze(ClientContext.prototype);

/** Time spent waiting for the client does not count toward the tool's time limit. */
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

/** Copies a tool's log to the client: only the message, because the fields may describe the machine. */
function teeLog(log: Logger, threshold: LogLevel, sink: LogSink): Logger {
  const lowest = logLevels.indexOf(threshold);
  const line = (level: keyof Logger, as: LogLevel): Logger['info'] => {
    const isSent = logLevels.indexOf(as) >= lowest;
    return (fields, message) => {
      if (message === undefined) log[level](fields);
      else log[level](fields, message);
      const text = message ?? (typeof fields === 'string' ? fields : undefined);
      if (isSent && text !== undefined) sink(as, redactSecrets(text));
    };
  };
  return {
    trace: line('trace', 'debug'),
    debug: line('debug', 'debug'),
    info: line('info', 'info'),
    warn: line('warn', 'warning'),
    error: line('error', 'error'),
  };
}
