import { Context, Liquid } from 'liquidjs';
import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { cronError } from '../errors.js';

/**
 * Liquid has no code execution. Tags that read files are refused, inherited members are invisible, and an unknown variable
 * is an error instead of an empty text.
 */
const liquid = new Liquid({
  strictVariables: true,
  strictFilters: true,
  lenientIf: true,
  ownPropertyOnly: true,
  templates: {},
  parseLimit: 1_000_000,
  memoryLimit: 250_000,
});

for (const name of ['include', 'render', 'layout']) {
  liquid.registerTag(name, {
    parse() {
      throw new Error(`the tag "${name}" is not available, because there are no template files`);
    },
    render: () => '',
  });
}

/** Rendering is synchronous: all templates of a node together get this time, milliseconds. */
const renderMs = 200;

const maxDepth = 32;
/** A string that is one output and nothing else keeps the type of its value. */
const single = /^\{\{-?\s*((?:(?!\{\{|\}\}).)+?)\s*-?\}\}$/s;

/** What templates may read. */
interface TemplateScope {
  /** Outputs of earlier nodes, by node id. */
  readonly nodes: Readonly<Record<string, unknown>>;
  readonly prev: { readonly status: string; readonly reply: string };
  readonly job: { readonly id: string; readonly name: string };
  readonly run: { readonly id: string; readonly trigger: string; readonly scheduled_at: string | null };
}

/** Why templates in parameters cannot be parsed. */
export function templateProblem(params: JsonObject): string | undefined {
  try {
    mapStrings(params, 0, (text) => void liquid.parse(text));
    return undefined;
  } catch (error) {
    return `template error: ${firstLine(error)}`;
  }
}

/**
 * Parameters with their templates rendered.
 * @throws MortiseError `cron_run_failed`: `template error: …`.
 */
export function renderParams(params: JsonObject, scope: TemplateScope): JsonObject {
  const until = performance.now() + renderMs;
  try {
    return mapStrings(params, 0, (text) => {
      if (!text.includes('{{') && !text.includes('{%')) return text;
      const renderLimit = until - performance.now();
      if (renderLimit <= 0) throw new Error(`the templates of a node may take ${renderMs} ms`);
      const [, expression] = single.exec(text) ?? [];
      if (expression === undefined) return liquid.parseAndRenderSync(text, scope, { renderLimit });
      return liquid.evalValueSync(expression, new Context(scope, liquid.options, { sync: true, renderLimit })) ?? null;
    }) as JsonObject;
  } catch (error) {
    throw cronError('cron_run_failed', { message: `template error: ${firstLine(error)}`, cause: error });
  }
}

function mapStrings(value: unknown, depth: number, map: (text: string) => unknown): unknown {
  if (depth > maxDepth) throw new Error('parameters are nested too deeply');
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, depth + 1, map));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapStrings(member, depth + 1, map)]));
}

/** Liquid's messages quote the template on further lines. */
function firstLine(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unknown';
}
