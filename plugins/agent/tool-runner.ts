import type { DirectToolCall } from 'mortise/contracts/agent';
import {
  type CallContext,
  callOptions,
  extendContext,
  type HttpService,
  isJsonObject,
  type JsonObject,
  type ModelToolCall,
  type Points,
  type Refusal,
  type SchemasService,
  startDeadline,
  type Tool,
  type ToolContext,
  type ValueSchema,
} from 'mortise/sdk';
import { invalidArguments, isRefusal, type ToolError, timedOut, toolFailure, unknownTool } from './tool-errors.js';
import type { AgentTool, Plan, PlannedCall, ToolRegistry, ToolScope } from './tool-registry.js';
import { failed, succeeded, type ToolOutcome } from './tool-result.js';

/** The caller of a tool. */
type ToolCaller = Pick<ToolContext, 'caller' | 'session'>;

interface ToolRunnerDeps {
  readonly points: Points;
  readonly registry: ToolRegistry;
  readonly schemas: SchemasService;
  readonly http: Pick<HttpService, 'admitToolCall'>;
  /** Reports a refused call to the audit trail. */
  readonly refused: (refusal: Refusal) => void;
  /** Limit of tools that declare none, milliseconds. */
  readonly timeoutMs: number;
}

/** Runs tool calls of models and of direct callers. A failed tool is an outcome; it never ends a turn by itself. */
export class ToolRunner {
  readonly registry: ToolRegistry;
  readonly #deps: ToolRunnerDeps;
  readonly #schemas = new WeakMap<object, ValueSchema>();

  constructor(deps: ToolRunnerDeps) {
    this.registry = deps.registry;
    this.#deps = deps;
  }

  /** Why a direct call would be refused before its tool runs; undefined when it is acceptable. */
  async refusal(
    { name, arguments: input }: DirectToolCall,
    scope: ToolScope,
    ctx: CallContext,
  ): Promise<ToolError | undefined> {
    const plan = await this.#plan(name, input, scope, 'direct', ctx);
    if (!plan.ok) return plan.error;
    const { call } = plan;
    return this.#deps.points.call(
      'tool',
      call.tool.key,
      (tool) => this.#checkArguments(call.tool, tool, call.input),
      ctx,
    );
  }

  /** @throws only when the turn itself was aborted */
  async run(call: ModelToolCall, caller: ToolCaller, scope: ToolScope, ctx: CallContext): Promise<ToolOutcome> {
    const { name } = call;
    const args = readArguments(call.arguments);
    if (caller.caller === 'agent' && scope.only?.includes(name) === false) return failed(unknownTool(name));
    const plan = await this.#plan(name, args.ok ? args.value : {}, scope, caller.caller, ctx);
    // Unreadable arguments are reported for every existing tool, even one that would accept empty ones.
    const error = args.ok || (!plan.ok && plan.error.error_code !== 'INVALID_ARGS') ? undefined : args.error;
    const outcome = error
      ? failed(error)
      : plan.ok
        ? await this.#call(plan.call, call, caller, scope, ctx)
        : failed(plan.error);
    if (!outcome.ok && isRefusal(outcome.error)) {
      const { principal, correlationId } = ctx;
      this.#deps.refused({ reason: 'forbidden', subject: principal.id, target: name.slice(0, 64), correlationId });
    }
    return outcome;
  }

  async #call(
    { tool: target, input: planned, finish }: PlannedCall,
    { id, name }: ModelToolCall,
    caller: ToolCaller,
    { promptMode, collaborationMode }: ToolScope,
    ctx: CallContext,
  ): Promise<ToolOutcome> {
    const { timeoutSeconds } = target.facts;
    const limitMs = timeoutSeconds === undefined ? this.#deps.timeoutMs : timeoutSeconds * 1_000;
    const deadline = startDeadline(limitMs, ctx.signal);
    try {
      this.#deps.http.admitToolCall(target.key, ctx);
      return await this.#deps.points.call(
        'tool',
        target.key,
        async (tool, toolCtx) => {
          // A direct caller knows the tool's schema; a model may write older or looser arguments.
          const input = (caller.caller === 'agent' ? tool.normalise?.(planned) : undefined) ?? planned;
          const wrong = this.#checkArguments(target, tool, input);
          if (wrong) return failed(wrong);
          const own = { ...caller, callId: id, promptMode, collaborationMode, commit: deadline.commit };
          const result = await tool.run(input, extendContext(toolCtx, own));
          return succeeded(name, typeof result === 'object' && result !== null ? finish(result) : result);
        },
        { ...callOptions(ctx), signal: deadline.signal, timeoutMs: 0 },
      );
    } catch (error) {
      if (!deadline.expired) ctx.signal.throwIfAborted();
      const failure = deadline.expired ? timedOut(name) : toolFailure(name, error);
      ctx.log.warn({ tool: target.key, code: failure.code }, 'a tool call failed');
      return failed(failure);
    } finally {
      deadline.close();
    }
  }

  /** A tool that is not offered to this principal is reported as unknown. */
  async #plan(
    name: string,
    input: JsonObject,
    scope: ToolScope,
    caller: ToolContext['caller'],
    { principal }: CallContext,
  ): Promise<Plan> {
    const plan = this.registry.plan(name, input, scope, caller === 'agent');
    if (!plan.ok || (await this.registry.isOffered(plan.call.tool, principal))) return plan;
    return { ok: false, error: unknownTool(name) };
  }

  /** Runs within a call of the tool, so that a slow pattern of its schema is attributed to its plugin. */
  #checkArguments({ key, facts: { inputSchema } }: AgentTool, tool: Tool, input: JsonObject): ToolError | undefined {
    let schema = this.#schemas.get(inputSchema);
    if (!schema) {
      schema = this.#deps.schemas.compile(inputSchema, { name: `tool ${key}` });
      this.#schemas.set(inputSchema, schema);
    }
    const issues = schema.check(input);
    const [first] = issues;
    return first && invalidArguments(tool.explain?.(issues) ?? `${first.path || 'arguments'} ${first.message}`);
  }
}

type ToolArguments =
  | { readonly ok: true; readonly value: JsonObject }
  /** `shown` replaces the unreadable input in the event. */
  | { readonly ok: false; readonly error: ToolError; readonly shown: JsonObject };

/** Parses a model's arguments, which must be a JSON object; blank text is an empty one. */
export function readArguments(text: string): ToolArguments {
  if (text.trim() === '') return { ok: true, value: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return unreadable(text, `Invalid JSON arguments: ${error instanceof SyntaxError ? error.name : 'unreadable'}`);
  }
  return isJsonObject(value)
    ? { ok: true, value }
    : unreadable(text, `Expected dict arguments, got ${typeName(value)}`);
}

function unreadable(text: string, message: string): ToolArguments {
  const raw = [...text.slice(0, 640)].slice(0, 320).join('');
  return {
    ok: false,
    error: invalidArguments(message, `raw_arguments=${raw}`),
    shown: { raw_arguments: raw, parse_error: message },
  };
}

/** Python's type names, which models know best from examples of tool calls. */
function typeName(value: unknown): string {
  if (value === null) return 'NoneType';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  return 'str';
}
