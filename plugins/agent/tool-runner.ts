import type { DirectToolCall } from 'mortise/contracts/agent';
import {
  type ActiveContributions,
  type CallContext,
  type Contribution,
  type ContributionCache,
  callOptions,
  extendContext,
  type HttpService,
  isJsonObject,
  type JsonObject,
  type ModelToolCall,
  type Points,
  type Principal,
  type SchemasService,
  startDeadline,
  type Tool,
  type ToolContext,
  type ToolFacts,
  type ValueSchema,
} from 'mortise/sdk';
import { invalidArguments, invalidResult, type ToolError, timedOut, toolFailure, unknownTool } from './tool-errors.js';

/** How a call ended. `text` is sent to the model and stored; `summary` is for the event. */
export type ToolOutcome =
  | { readonly ok: true; readonly text: string; readonly summary: string }
  | { readonly ok: false; readonly text: string; readonly summary: string; readonly error: ToolError };

/** On whose behalf a tool is called. */
interface ToolCaller extends Pick<ToolContext, 'caller' | 'session'> {
  /** The only tools that the caller may use; all when absent. */
  readonly offered?: readonly string[] | undefined;
}

interface ToolRunnerDeps {
  readonly points: Points;
  readonly tools: ContributionCache<ActiveContributions<'tool'>>;
  readonly schemas: SchemasService;
  readonly http: Pick<HttpService, 'admitToolCall'>;
  /** Names of tools that are switched off. */
  readonly disabled: readonly string[];
  /** Limit of tools that declare none, milliseconds. */
  readonly timeoutMs: number;
}

type AgentTool = Contribution<'tool'>;

/** Code points of an event's summary. */
const summaryLimit = 160;

/** Code points of a tool's text that a model is sent whole, and of the two ends of a longer one. */
const modelLimit = 65_536;
const modelHead = 49_152;
const modelTail = 8_192;

/** Runs tool calls of models and of direct callers. A tool that fails is an outcome; it never ends a turn by itself. */
export class ToolRunner {
  readonly #deps: ToolRunnerDeps;
  readonly #schemas = new WeakMap<object, ValueSchema>();

  constructor(deps: ToolRunnerDeps) {
    this.#deps = deps;
  }

  /** A tool for agents, whether or not it is switched off. */
  find(name: string): { readonly facts: ToolFacts; readonly disabled: boolean } | undefined {
    const tool = this.#agentTool(name);
    return tool && { facts: tool.facts, disabled: this.#deps.disabled.includes(name) };
  }

  /** The tools that this principal is offered, by name. @param only names of a turn's tools; all when absent */
  async definitions(
    principal: Principal,
    only?: readonly string[],
  ): Promise<readonly { readonly name: string; readonly facts: ToolFacts }[]> {
    const { tools, disabled } = this.#deps;
    const candidates = [...tools.current.values()].filter(
      ({ key, facts }) => isForAgents(facts) && !disabled.includes(key) && (only?.includes(key) ?? true),
    );
    const shown = await Promise.all(candidates.map((tool) => this.#isOffered(tool, principal)));
    return candidates
      .filter((_, index) => shown[index])
      .map(({ key, facts }) => ({ name: key, facts }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Why a call would be refused before its tool does anything; undefined when it would not be. */
  async refusal({ name, arguments: input }: DirectToolCall, ctx: CallContext): Promise<ToolError | undefined> {
    const found = this.#agentTool(name);
    if (!found || !(await this.#isOffered(found, ctx.principal))) return unknownTool(name);
    return this.#deps.points.call('tool', name, (tool) => this.#wrongArguments(found, tool, input), ctx);
  }

  /** @throws only when the turn itself was aborted */
  async run(call: ModelToolCall, caller: ToolCaller, ctx: CallContext): Promise<ToolOutcome> {
    const { name } = call;
    const args = readArguments(call.arguments);
    const found = this.#agentTool(name);
    const isAllowed = caller.offered?.includes(name) ?? true;
    if (!found || !isAllowed || !(await this.#isOffered(found, ctx.principal))) return failed(unknownTool(name));
    if (this.#deps.disabled.includes(name)) return failed(unknownTool(name, 'tool_disabled'));
    if (!args.ok) return failed(args.error);
    const { timeoutSeconds } = found.facts;
    const limitMs = timeoutSeconds === undefined ? this.#deps.timeoutMs : timeoutSeconds * 1_000;
    const deadline = startDeadline(limitMs, ctx.signal);
    try {
      this.#deps.http.admitToolCall(name, ctx);
      return await this.#deps.points.call(
        'tool',
        name,
        async (tool, toolCtx) => {
          // A direct caller knows the tool's schema; a model may write older or looser arguments.
          const input = (caller.caller === 'agent' ? tool.normalise?.(args.value) : undefined) ?? args.value;
          const wrong = this.#wrongArguments(found, tool, input);
          if (wrong) return failed(wrong);
          const own = { caller: caller.caller, session: caller.session, commit: deadline.commit };
          return succeeded(name, await tool.run(input, extendContext(toolCtx, own)));
        },
        { ...callOptions(ctx), signal: deadline.signal, timeoutMs: 0 },
      );
    } catch (error) {
      if (!deadline.expired) ctx.signal.throwIfAborted();
      const failure = deadline.expired ? timedOut(name) : toolFailure(name, error);
      ctx.log.warn({ tool: name, code: failure.code }, 'a tool call failed');
      return failed(failure);
    } finally {
      deadline.close();
    }
  }

  #agentTool(name: string): AgentTool | undefined {
    const tool = this.#deps.tools.current.get(name);
    return tool && isForAgents(tool.facts) ? tool : undefined;
  }

  /** A tool whose `visibleTo` throws is not offered. */
  async #isOffered({ key, offers }: AgentTool, principal: Principal): Promise<boolean> {
    if (!offers.includes('visibleTo')) return true;
    try {
      return await this.#deps.points.call('tool', key, (tool) => tool.visibleTo?.(principal) ?? true, { principal });
    } catch {
      return false;
    }
  }

  /** Runs within a call of the tool, so that a slow pattern of its schema is attributed to its plugin. */
  #wrongArguments({ key, facts: { inputSchema } }: AgentTool, tool: Tool, input: JsonObject): ToolError | undefined {
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

function isForAgents({ audience }: ToolFacts): boolean {
  return audience.includes('agent');
}

function succeeded(name: string, result: unknown): ToolOutcome {
  const whole = textOf(result);
  if (whole === undefined) return failed(invalidResult(name));
  const text = fitForModel(whole);
  return { ok: true, text, summary: shorten(text.trim(), summaryLimit) };
}

/** What the model is sent of a result: its own text, or its JSON; undefined when it has neither. */
function textOf(result: unknown): string | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  const { text } = result as { text?: unknown };
  if (typeof text === 'string') return text;
  try {
    return JSON.stringify(result);
  } catch {
    return undefined;
  }
}

function failed(error: ToolError): ToolOutcome {
  const summary = shorten(`${error.code}: ${error.message}`, summaryLimit);
  return { ok: false, text: JSON.stringify(error), summary, error };
}

/** The first `limit` code points, and `...` when there were more. */
function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const points = [...text];
  return points.length <= limit ? text : `${points.slice(0, limit).join('')}...`;
}

/** The beginning and the end of a very long text, and how many code points were left out between them. */
function fitForModel(text: string): string {
  if (text.length <= modelLimit) return text;
  const points = [...text];
  if (points.length <= modelLimit) return text;
  const omitted = points.length - modelHead - modelTail;
  const head = points.slice(0, modelHead).join('');
  return `${head}\n... (${omitted} code points omitted)\n${points.slice(-modelTail).join('')}`;
}
