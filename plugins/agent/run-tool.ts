import {
  type CallContext,
  extendContext,
  type ModelToolCall,
  type Points,
  type SchemasService,
  type ToolContext,
  type ToolFacts,
  type ValueSchema,
} from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import { fitForModel, shorten } from './text.js';
import { readArguments } from './tool-arguments.js';
import { invalidArguments, invalidResult, type ToolError, toolFailure, unknownTool } from './tool-errors.js';

export interface ToolOutcome {
  readonly ok: boolean;
  /** What the model sees and what is stored. */
  readonly text: string;
  /** For the event. */
  readonly summary: string;
}

export interface ToolRunnerPorts {
  readonly points: Points;
  readonly tools: ActiveContributions<'tool'>;
  readonly schemas: SchemasService;
  /** For tools that declare no limit of their own, milliseconds. */
  readonly timeoutMs: number;
}

const summaryLimit = 160;

/** Runs the tool calls of a model. A tool that fails is told to the model; it never ends a turn. */
export class ToolRunner {
  readonly #ports: ToolRunnerPorts;
  readonly #schemas = new WeakMap<object, ValueSchema>();

  constructor(ports: ToolRunnerPorts) {
    this.#ports = ports;
  }

  /** Tools that agents may call, by name. */
  definitions(): readonly { readonly name: string; readonly facts: ToolFacts }[] {
    return this.#ports.tools
      .list()
      .filter(({ facts }) => facts.audience.includes('agent'))
      .map(({ key, facts }) => ({ name: key, facts }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @throws only when the turn itself was aborted */
  async run(call: ModelToolCall, session: ToolContext['session'], ctx: CallContext): Promise<ToolOutcome> {
    const args = readArguments(call.arguments);
    const known = this.definitions().find(({ name }) => name === call.name);
    if (!known) return failed(unknownTool(call.name));
    if (!args.ok) return failed(args.error);
    const { points, timeoutMs } = this.#ports;
    const limit = known.facts.timeoutSeconds === undefined ? timeoutMs : known.facts.timeoutSeconds * 1_000;
    try {
      return await points.call(
        'tool',
        known.name,
        async (tool, toolCtx) => {
          const normalised = tool.normalise?.(args.value) ?? args.value;
          const issues = this.#schema(known.name, known.facts).check(normalised);
          const [first] = issues;
          if (first) {
            const own = tool.explain?.(issues);
            return failed(invalidArguments(own ?? `${first.path || 'arguments'} ${first.message}`));
          }
          const additions = { caller: 'agent' as const, ...(session ? { session } : {}) };
          return succeeded(known.name, await tool.run(normalised, extendContext(toolCtx, additions)));
        },
        {
          signal: ctx.signal,
          principal: ctx.principal,
          requestId: ctx.requestId,
          correlationId: ctx.correlationId,
          trace: ctx.trace,
          timeoutMs: limit,
        },
      );
    } catch (error) {
      ctx.signal.throwIfAborted();
      ctx.log.warn({ tool: call.name, code: toolFailure(call.name, error).code }, 'a tool call failed');
      return failed(toolFailure(call.name, error));
    }
  }

  #schema(name: string, facts: ToolFacts): ValueSchema {
    const known = this.#schemas.get(facts.inputSchema);
    if (known) return known;
    const compiled = this.#ports.schemas.compile(facts.inputSchema, { name: `tool ${name}` });
    this.#schemas.set(facts.inputSchema, compiled);
    return compiled;
  }
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
  return { ok: false, text: JSON.stringify(error), summary: shorten(`${error.code}: ${error.message}`, summaryLimit) };
}
