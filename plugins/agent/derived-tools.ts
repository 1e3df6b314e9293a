import { isAbsolute } from 'node:path';
import { isJsonObject, type JsonObject, type ToolFacts } from 'mortise/sdk';
import { agentError } from './errors.js';

/** A tool that runs through another one with the needed capability. */
export interface DerivedTool {
  readonly facts: ToolFacts;
  /** The derived tool exists while an enabled tool has one of these. */
  readonly capabilities: readonly string[];
  /** @throws invalid_tool_input */
  route(args: JsonObject): DerivedCall;
}

interface DerivedCall {
  readonly capability: string;
  /** Arguments of the tool with the capability. */
  readonly input: JsonObject;
  /** Turns that tool's result into that of the derived tool. */
  readonly finish?: (result: object) => object;
}

const text = { type: 'string' } as const;
const seconds = { type: 'number', description: 'Time limit in seconds.' } as const;
const number = { type: 'integer', minimum: 1 } as const;
/** Lines of a file that `open` shows by default. */
const openedLines = 200;

/** Tools that the agent itself offers, by name. */
export const derivedTools: Readonly<Record<string, DerivedTool>> = {
  open: {
    facts: facts('Opens a file by its absolute path, or a web page by its address.', {
      path: text,
      url: text,
      ref_id: text,
      lineno: number,
      start: number,
      end: number,
      timeout_seconds: seconds,
    }),
    capabilities: ['open_local', 'open_url'],
    route: openTarget,
  },
  click: approximated('click', 'approx_click', 'Clicks an element of a web page.'),
  screenshot: approximated('screenshot', 'approx_screenshot', 'Takes a screenshot of a web page or of an element.'),
  Bash: {
    facts: facts(
      'Runs a shell command.',
      {
        command: text,
        timeout: { type: 'number', description: 'Time limit in milliseconds, at most 120000.' },
        description: text,
      },
      ['command'],
    ),
    capabilities: ['execute'],
    route({ command, timeout }) {
      if (typeof command !== 'string' || command.trim() === '') throw invalid('tool input command is required');
      const limit = typeof timeout === 'number' && timeout > 0 ? { timeout_seconds: Math.ceil(timeout / 1_000) } : {};
      return { capability: 'execute', input: { items: [{ command, ...limit }] } };
    },
  },
  WebSearch: {
    facts: facts(
      'Searches the web.',
      {
        query: text,
        allowed_domains: { type: 'array', items: text },
        blocked_domains: { type: 'array', items: text },
      },
      ['query'],
    ),
    capabilities: ['web_search'],
    route({ query, allowed_domains, blocked_domains }) {
      if (typeof query !== 'string' || query.trim() === '') throw invalid('tool input query is required');
      const allowed = texts(allowed_domains).map((domain) => `site:${domain}`);
      const blocked = texts(blocked_domains).map((domain) => `-site:${domain}`);
      const words = [query.trim(), allowed.join(' OR '), ...blocked].filter((part) => part !== '');
      return { capability: 'web_search', input: { items: [{ query: words.join(' ') }] } };
    },
  },
  WebFetch: {
    facts: facts('Reads a web page and answers a question about it.', { url: text, prompt: text }, ['url', 'prompt']),
    capabilities: ['web_fetch'],
    route({ url, prompt }) {
      const address = webAddress(typeof url === 'string' ? url.trim().replace(/^http:/i, 'https:') : undefined);
      if (!address) throw invalid('tool input url is invalid');
      const question = typeof prompt === 'string' && prompt.trim() !== '' ? prompt.trim() : 'Summarise the page.';
      const task = `Open ${address} and answer from its content: ${question}`;
      return { capability: 'web_fetch', input: { items: [{ task, url: address }] } };
    },
  },
};

function openTarget(args: JsonObject): DerivedCall {
  const [target] = ['path', 'url', 'ref_id'].flatMap((member) => texts([args[member]]));
  if (target === undefined) throw invalid('tool input path is required');
  const address = webAddress(target);
  if (address) {
    const task = `Open ${address} and extract a structured summary of the page: title, main points, links.`;
    return { capability: 'open_url', input: { items: [{ task, url: address, ...timeLimit(args) }] } };
  }
  if (!isAbsolute(target)) throw invalid('tool input path is invalid');
  const start = args.lineno ?? args.start;
  const first = typeof start === 'number' ? start : 1;
  const last = typeof args.end === 'number' ? args.end : typeof start === 'number' ? first : openedLines;
  return { capability: 'open_local', input: { items: [{ path: target, start: first, end: last }] } };
}

/** A browser action that a browser agent gets as a task in plain text. */
function approximated(action: string, capability: string, summary: string): DerivedTool {
  return {
    facts: facts(summary, {
      task: text,
      url: text,
      ref_id: text,
      selector: text,
      id: text,
      text,
      target: text,
      timeout_seconds: seconds,
    }),
    capabilities: [capability],
    route(args) {
      const address = webAddress(texts([args.url, args.ref_id])[0]);
      const [element] = texts([args.selector, args.id, args.text, args.target]);
      const [own] = texts([args.task]);
      if (own === undefined && address === undefined) throw invalid('tool input task is required');
      const what = element === undefined ? '' : ` on the element "${element}"`;
      const where = address === undefined ? '' : `Open ${address}. `;
      const task = own ?? `${where}Perform a ${action}${what} and report the result.`;
      const item = { task, ...(address === undefined ? {} : { url: address }), ...timeLimit(args) };
      return { capability, input: { items: [item] }, finish: (result) => approximation(action, result) };
    },
  };
}

function approximation(action: string, result: object): object {
  const { text: shown } = result as { text?: unknown };
  const head = `mode=approx action=${action} routed_to=browser`;
  return {
    ...result,
    mode: 'approx',
    action,
    target_tool: 'browser',
    result,
    text: typeof shown === 'string' ? `${head}\n${shown}` : head,
  };
}

/** The canonical form of an HTTP address; undefined for any other text. */
function webAddress(value: string | undefined): string | undefined {
  if (value === undefined || !/^https?:\/\//i.test(value) || !URL.canParse(value)) return undefined;
  return new URL(value).href;
}

function timeLimit({ timeout_seconds: limit }: JsonObject): JsonObject {
  return typeof limit === 'number' ? { timeout_seconds: limit } : {};
}

function texts(values: unknown): readonly string[] {
  if (!Array.isArray(values)) return [];
  return values
    .filter((value): value is string => typeof value === 'string' && value.trim() !== '')
    .map((value) => value.trim());
}

function facts(summary: string, properties: JsonObject, required: readonly string[] = []): ToolFacts {
  const inputSchema = { type: 'object', required, properties };
  return { summary, audience: ['agent'], inputSchema };
}

function invalid(message: string) {
  return agentError('invalid_tool_input', { message });
}

/** Capabilities of tools that declare none, by name. */
export function capabilitiesOf(key: string, { capabilities }: ToolFacts): readonly string[] {
  if (capabilities) return capabilities;
  if (key === 'view') return ['read', 'open_local'];
  return key === 'browser' ? ['network', 'open_url', 'approx_click', 'approx_screenshot', 'web_fetch'] : [];
}

/** The session tool that a shell call with session members is routed to. */
export function shellSessionTool(args: JsonObject): 'exec_command' | 'write_stdin' | undefined {
  const [item] = Array.isArray(args.items) ? (args.items as readonly unknown[]) : [args.items ?? args];
  if (!isJsonObject(item)) return undefined;
  if ('session_id' in item || 'process_id' in item || 'chars' in item) return 'write_stdin';
  return 'tty' in item ? 'exec_command' : undefined;
}
