import type { CallContext, Principal } from '../context.js';

/** Who a tool may be offered to: models in a turn, clients of MCP. */
export const toolAudiences = ['agent', 'mcp'] as const;

export interface ToolFacts {
  readonly title?: string;
  /** One line for a person. */
  readonly summary: string;
  /** For the model; defaults to the summary. */
  readonly description?: string;
  readonly audience: readonly (typeof toolAudiences)[number][];
  /** JSON Schema (draft 2020-12) of the arguments; checked before the tool runs. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** MCP annotations: `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`. */
  readonly annotations?: Readonly<Record<string, unknown>>;
  /** Native capabilities that derived tools look for: `read`, `write`, `execute`, … */
  readonly capabilities?: readonly string[];
  readonly sideEffects?: boolean;
  readonly task?: 'never' | 'allowed' | 'required';
  /** Seconds; a maximum that the tool enforces itself. Defaults to the caller's limit. */
  readonly timeoutSeconds?: number;
  /** Prompt modes in which agents are offered the tool (`default`, `codex`, `claude`); all when absent. */
  readonly modes?: readonly string[];
  /** Collaboration modes outside of which agents may not call the tool; all when absent. */
  readonly collaborationModes?: readonly string[];
  /** Names of tools with the same powers: an agent may not call this tool while one of them is disabled. */
  readonly builtOn?: readonly string[];
}

/** Features of the caller in addition to the call context; each is absent where the caller does not support it. */
export interface ToolContext extends CallContext {
  readonly caller: 'agent' | 'mcp' | 'rest' | 'direct';
  /** The session of the calling turn, with its fencing token (`epoch`). */
  readonly session?: {
    readonly key: string;
    readonly sessionId: string;
    readonly userId: string;
    readonly channel: string;
    readonly turnId: string;
    readonly epoch: number;
  };
  /** Id of the model's call. */
  readonly callId?: string;
  /** Prompt mode and collaboration mode of the calling turn. */
  readonly promptMode?: string;
  readonly collaborationMode?: string;
  progress?(done: number, total?: number, message?: string): void;
  /** After this, the call is no longer aborted by its time limit or a disconnected caller; its outcome is awaited. */
  commit?(): void;
  requireInput?(request: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>;
  requireCapability?(capability: string): void;
  /** Ends the connection of a long call; the client fetches the result later. Absent where a client cannot. */
  releaseStream?(): void;
}

/** A JSON object. If `text` is a string, the model receives it instead of the JSON. */
type ToolResult = object;

export interface Tool extends ToolFacts {
  run(args: Readonly<Record<string, unknown>>, ctx: ToolContext): ToolResult | Promise<ToolResult>;
  /** Converts deprecated or loosely formatted arguments before they are validated. */
  normalise?(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /** Returns a custom message for schema violations. */
  explain?(
    errors: readonly { readonly path: string; readonly keyword: string; readonly message: string }[],
  ): string | undefined;
  /** Whether this principal is offered the tool. */
  visibleTo?(principal: Principal): boolean;
  /**
   * Runs within the request that is about to become a task, while the client can still be asked for input. Returns the
   * arguments of the task, which are validated like any others. Callers without tasks call `run` directly.
   */
  beforeTask?(
    args: Readonly<Record<string, unknown>>,
    ctx: ToolContext,
  ): Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
}

/** The sentence of a tool whose `items` are missing or are not objects. */
const itemsSentence = 'tool input items must be a non-empty array of objects';

/**
 * `explain` of a tool with one sentence per member of its items, for a member that is missing or malformed. The sentence of
 * the schema describes what is too long or too many: it names the limit.
 */
export function explainMembers(sentences: Readonly<Record<string, string>>): NonNullable<Tool['explain']> {
  return ([first]) => {
    if (!first || ['maxItems', 'maxLength'].includes(first.keyword)) return undefined;
    const member = first.path.split('/').at(-1) ?? '';
    if (member === 'items' || /^\d+$/.test(member)) return itemsSentence;
    return Object.hasOwn(sentences, member) ? sentences[member] : undefined;
  };
}
