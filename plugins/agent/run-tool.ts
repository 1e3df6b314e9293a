import type { DirectToolCall } from 'mortise/contracts/agent';
import {
  type CallContext,
  type Contribution,
  extendContext,
  type HttpService,
  type ModelToolCall,
  type Points,
  type Principal,
  type SchemasService,
  startDeadline,
  type Tool,
  type ToolFacts,
  type ValueSchema,
} from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import type { Json } from './json.js';
import { fitForModel, shorten } from './text.js';
import { readArguments } from './tool-arguments.js';
import type { ToolCaller } from './tool-caller.js';
import { invalidArguments, invalidResult, type ToolError, timedOut, toolFailure, unknownTool } from './tool-errors.js';

/** How a call ended. `text` is what the model sees and what is stored; `summary` is for the event. */
export type ToolOutcome =
  | { readonly ok: true; readonly text: string; readonly summary: string }
  | { readonly ok: false; readonly text: string; readonly summary: string; readonly error: ToolError };

export interface ToolRunnerPorts {
  readonly points: Points;
  readonly tools: ActiveContributions<'tool'>;
  readonly schemas: SchemasService;
  readonly http: Pick<HttpService, 'admitToolCall'>;
  /** Names of tools that nobody is offered. */
  readonly disabled: readonly string[];
  /** For tools that declare no limit of their own, milliseconds. */
  readonly timeoutMs: number;
}

type Offer = Contribution<'tool'>;

const summaryLimit = 160;

/** Runs tool calls of models and callers. A tool that fails is an outcome; it never ends a turn by itself. */
export class ToolRunner {
  readonly #ports: ToolRunnerPorts;
  readonly #schemas = new WeakMap<object, ValueSchema>();

  constructor(ports: ToolRunnerPorts) {
    this.#ports = ports;
  }

  /** A tool for agents, whether or not it may be called. */
  find(name: string): { readonly facts: ToolFacts; readonly disabled: boolean } | undefined {
    const offer = this.#offer(name);
    return offer && { facts: offer.facts, disabled: this.#ports.disabled.includes(name) };
  }

  /** Tools that this principal is offered, by name. */
  async definitions(principal: Principal): Promise<readonly { readonly name: string; readonly facts: ToolFacts }[]> {
    const { tools, disabled } = this.#ports;
    const offers = tools.list().filter(({ key, facts }) => isForAgents(facts) && !disabled.includes(key));
    const shown = await Promise.all(offers.map((offer) => this.#isOffered(offer, principal)));
    return offers
      .filter((_, index) => shown[index])
      .map(({ key, facts }) => ({ name: key, facts }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Why a call would be refused before its tool does anything; undefined when it would not. */
  async refusal({ name, arguments: input }: DirectToolCall, ctx: CallContext): Promise<ToolError | undefined> {
    const offer = this.#offer(name);
    if (!offer || !(await this.#isOffered(offer, ctx.principal))) return unknownTool(name);
    return this.#ports.points.call('tool', name, (tool) => this.#wrongArguments(offer, tool, input), ctx);
  }

  /** @throws only when the turn itself was aborted */
  async run(call: ModelToolCall, caller: ToolCaller, ctx: CallContext): Promise<ToolOutcome> {
    const { name } = call;
    const args = readArguments(call.arguments);
    const offer = this.#offer(name);
    if (!offer || !(await this.#isOffered(offer, ctx.principal))) return failed(unknownTool(name));
    if (this.#ports.disabled.includes(name)) return failed(unknownTool(name, 'tool_disabled'));
    if (!args.ok) return failed(args.error);
    const deadline = startDeadline(this.#limitOf(offer.facts), ctx.signal);
    try {
      this.#ports.http.admitToolCall(name, ctx);
      return await this.#ports.points.call(
        'tool',
        name,
        async (tool, toolCtx) => {
          // Whoever names a tool knows its form; a model may write an older or a looser one.
          const input = (caller.caller === 'agent' ? tool.normalise?.(args.value) : undefined) ?? args.value;
          const wrong = this.#wrongArguments(offer, tool, input);
          if (wrong) return failed(wrong);
          const own = { ...caller, commit: deadline.commit };
          return succeeded(name, await tool.run(input, extendContext(toolCtx, own)));
        },
        {
          signal: deadline.signal,
          timeoutMs: 0,
          principal: ctx.principal,
          requestId: ctx.requestId,
          correlationId: ctx.correlationId,
          trace: ctx.trace,
        },
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

  #offer(name: string): Offer | undefined {
    const offer = this.#ports.tools.get(name);
    return offer && isForAgents(offer.facts) ? offer : undefined;
  }

  /** A tool that cannot say whom it is for is for nobody. */
  async #isOffered({ key, offers }: Offer, principal: Principal): Promise<boolean> {
    if (!offers.includes('visibleTo')) return true;
    try {
      return await this.#ports.points.call('tool', key, (tool) => tool.visibleTo?.(principal) ?? true, { principal });
    } catch {
      return false;
    }
  }

  #limitOf({ timeoutSeconds }: ToolFacts): number {
    return timeoutSeconds === undefined ? this.#ports.timeoutMs : timeoutSeconds * 1_000;
  }

  /** Asked within a call of the tool: a pattern of its schema that takes for ever to match is on its own account. */
  #wrongArguments({ key, facts: { inputSchema } }: Offer, tool: Tool, input: Json): ToolError | undefined {
    let schema = this.#schemas.get(inputSchema);
    if (!schema) {
      schema = this.#ports.schemas.compile(inputSchema, { name: `tool ${key}` });
      this.#schemas.set(inputSchema, schema);
    }
    const issues = schema.check(input);
    const [first] = issues;
    return first && invalidArguments(tool.explain?.(issues) ?? `${first.path || 'arguments'} ${first.message}`);
  }
}

function isForAgents({ audience }: ToolFacts): boolean {
  return audience.includes('agent');
}

function succeeded(name: string, result: unknown): ToolOutcome {
  const text = textOf(result);
  if (text === undefined) return failed(invalidResult(name));
  const shown = fitForModel(text);
  return { ok: true, text: shown, summary: shorten(shown.trim(), summaryLimit) };
}

/** What the model sees of a result: its own text, or its JSON; undefined when it has neither. */
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
