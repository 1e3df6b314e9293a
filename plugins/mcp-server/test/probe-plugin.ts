import { type McpPrompt, type McpResource, mcpContent } from 'mortise/contracts/mcp-server';
import { extendContext, MortiseError, type PluginDefinition, type Tool, type ToolContext } from 'mortise/sdk';
import type { TestPlugin } from 'mortise/sdk/testing';

type Args = Readonly<Record<string, unknown>>;

const anything = { type: 'object', properties: {} } as const;

function tool(run: Tool['run'], facts: Partial<Tool> = {}): Tool {
  return { summary: 'For tests.', audience: ['mcp'], inputSchema: anything, run, ...facts };
}

/** Waits until the call is aborted. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

const question = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
};

/** Lets tests observe and control the tools. */
export interface Probe {
  readonly plugin: TestPlugin;
  /** Calls whose signal was aborted. */
  readonly aborted: string[];
  /** Outcomes of committed calls. */
  readonly finished: string[];
  /** Resumes the tool `wait`. */
  release(): void;
  /** Returns a function that resumes the call waiting now, also after another one has started to wait. */
  hold(): () => void;
  /** Resolves when the tool `wait` has started. */
  waiting(): Promise<void>;
  emitUpdate(uri: string): void;
  /** Adds or removes one more tool while the plugin runs. */
  toggleExtra(): void;
}

/** A plugin with one tool for each feature of tools. */
export function createProbe(): Probe {
  const aborted: string[] = [];
  const finished: string[] = [];
  let release: () => void = () => {};
  let begun: (() => void)[] = [];
  let emitUpdate: (uri: string) => void = () => {};
  let toggleExtra: () => void = () => {};
  const started = () => {
    for (const run of begun) run();
    begun = [];
  };

  const tools: Readonly<Record<string, Tool>> = {
    echo: tool((args) => ({ ok: true, echoed: args }), {
      title: 'Echo',
      description: 'Returns its arguments.',
      annotations: { readOnlyHint: true },
      inputSchema: {
        type: 'object',
        required: ['text'],
        properties: {
          text: { type: 'string', minLength: 1 },
          count: { type: 'integer', minimum: 1, maximum: 50 },
          kind: { enum: ['a', 'b'] },
        },
      },
      outputSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
    }),
    noop: tool(() => ({ ok: true })),
    strict: tool((args: Args) => ({ ok: true, got: Object.keys(args) }), {
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
      outputSchema: {
        type: 'object',
        properties: { ok: { type: 'boolean' }, got: { type: 'array' } },
        additionalProperties: false,
      },
    }),
    old_names: tool((args: Args) => ({ ok: true, text: args.text }), {
      inputSchema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
      normalise: (args) => ('txt' in args ? { text: args.txt } : args),
      explain: (errors) => `Say something (${errors.length}).`,
    }),
    native: tool(() =>
      mcpContent([{ type: 'image', data: 'AAAA', mimeType: 'image/png' }], { structuredContent: { shown: true } }),
    ),
    refuses: tool(() => ({ ok: false, message: 'Not today.' })),
    queued: tool(() => ({ ok: false, outbox_id: 12, message: 'Later.' })),
    breaks: tool(() => {
      throw new TypeError('password=hunter2 at /srv/secret/path');
    }),
    no_json: tool(() => ({ amount: 1n })),
    declares: tool(() => {
      throw new MortiseError('quota_used_up', 'Token sk-abcdefghijklmnopqrstuvwx is used up.', {
        retryable: true,
        details: { left: 0 },
        hint: 'Buy more.',
      });
    }),
    circular: tool(() => {
      const details: Record<string, unknown> = {};
      details.self = details;
      throw new MortiseError('quota_used_up', 'No more.', { details });
    }),
    backend_down: tool(() => {
      throw new MortiseError('OPENMEMORY_CONNECTION_FAILED', 'The backend did not answer.', {
        details: { category: 'dependency', service: 'openmemory' },
      });
    }),
    forbidden: tool(() => {
      throw new MortiseError('SPACE_FORBIDDEN', 'This space is not yours.', { details: { space: 'private:bob' } });
    }),
    wait: tool(async (_, ctx) => {
      ctx.signal.addEventListener('abort', () => aborted.push('wait'), { once: true });
      const free = new Promise<void>((resolve) => {
        release = resolve;
      });
      started();
      await Promise.race([free, untilAborted(ctx.signal)]);
      return { ok: true };
    }),
    too_slow: tool((_, ctx) => untilAborted(ctx.signal), { timeoutSeconds: 0.05 }),
    late_commit: tool(
      async (_, ctx) => {
        ctx.commit?.();
        await new Promise((resolve) => setTimeout(resolve, 120));
        return { ok: true, aborted: ctx.signal.aborted };
      },
      { timeoutSeconds: 0.05 },
    ),
    commits_and_waits: tool(async (_, ctx) => {
      ctx.commit?.();
      ctx.signal.addEventListener('abort', () => aborted.push('commits_and_waits'), { once: true });
      const free = new Promise<void>((resolve) => {
        release = resolve;
      });
      started();
      await free;
      finished.push(ctx.signal.aborted ? 'aborted' : 'complete');
      return { ok: true };
    }),
    progresses: tool(async (_, ctx) => {
      for (const done of [1, 2, 3]) ctx.progress?.(done, 3, `step ${done}`);
      return { ok: true };
    }),
    progress_and_wait: tool(async (_, ctx) => {
      ctx.progress?.(1, 2);
      const free = new Promise<void>((resolve) => {
        release = resolve;
      });
      started();
      await Promise.race([free, untilAborted(ctx.signal)]);
      return { ok: true, survived: !ctx.signal.aborted };
    }),
    releases_and_waits: tool(async (_, ctx) => {
      ctx.releaseStream?.();
      const free = new Promise<void>((resolve) => {
        release = resolve;
      });
      started();
      await Promise.race([free, untilAborted(ctx.signal)]);
      return { ok: true, released: ctx.releaseStream !== undefined };
    }),
    logs: tool(
      (_, ctx) => {
        ctx.log.debug('fine detail');
        ctx.log.warn({ path: '/srv/secret' }, 'something odd');
        return { ok: true };
      },
      { capabilities: ['logging'] },
    ),
    asks: tool(async (_, ctx) => ({ ok: true, answer: await ctx.requireInput?.(question) })),
    asks_twice: tool(async (_, ctx) => {
      const first = await ctx.requireInput?.({ ...question, key: 'first' });
      const second = await ctx.requireInput?.({ ...question, key: 'second' });
      return { ok: true, first, second };
    }),
    asks_both: tool(async (_, ctx) => {
      const ask = (request: object) => ctx.requireInput?.({ ...request }) ?? Promise.resolve({});
      const [name, roots] = await Promise.all([ask(question), ask({ method: 'roots/list' })]);
      return { ok: true, name, roots };
    }),
    needs_sampling: tool((_, ctx) => {
      ctx.requireCapability?.('sampling');
      return { ok: true };
    }),
    hidden: tool(() => ({ ok: true }), { visibleTo: (principal) => principal.id === 'boss' }),
    switched_off: tool(() => ({ ok: true })),
    agents_only: tool(() => ({ ok: true }), { audience: ['agent'] }),
    region: tool((args) => ({ ok: true, args }), {
      inputSchema: {
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      },
    }),
    job: tool(
      async (args: Args, ctx: ToolContext) => {
        if (args.fail === true) throw new MortiseError('quota_used_up', 'No more.');
        if (args.crash === true) throw new TypeError('No such member.');
        if (args.hang === true) {
          started();
          await untilAborted(ctx.signal);
        }
        if (args.ask === true) return { ok: true, answer: await ctx.requireInput?.(question) };
        return { ok: true, done: args.label ?? null };
      },
      {
        task: 'allowed',
        inputSchema: {
          type: 'object',
          properties: {
            label: { type: 'string' },
            fail: { type: 'boolean' },
            crash: { type: 'boolean' },
            hang: { type: 'boolean' },
            ask: { type: 'boolean' },
          },
        },
      },
    ),
    only_task: tool(() => ({ ok: true }), { task: 'required' }),
    asks_first: tool((args: Args) => ({ ok: true, name: args.name ?? null }), {
      task: 'allowed',
      inputSchema: { type: 'object', properties: { name: { type: 'string' }, forget: { type: 'boolean' } } },
      beforeTask: async ({ forget }, ctx) => {
        const answer = (await ctx.requireInput?.({ ...question, key: 'who' })) ?? {};
        return { name: forget === true ? 5 : Reflect.get(Object(answer.content), 'name') };
      },
    }),
    who: tool((_, ctx) => ({
      ok: true,
      principal: ctx.principal.id,
      caller: ctx.caller,
      correlation: ctx.correlationId,
      trace: ctx.trace.traceId,
      // A context can be extended further without losing what it has.
      extended: extendContext(ctx, { more: true }).correlationId,
    })),
  };

  const hello: McpPrompt = {
    title: 'Hello',
    description: 'Greets.',
    arguments: [{ name: 'name', required: true }],
    get: async (args) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello ${args.name}` } }] }),
  };
  const note: McpResource = {
    uri: 'probe://note',
    name: 'note',
    mimeType: 'text/plain',
    subscribe: true,
    read: async (uri) => [{ uri, mimeType: 'text/plain', text: 'A note.' }],
  };
  const numbered: McpResource = {
    uriTemplate: 'probe://numbered/{n}',
    name: 'numbered',
    read: async (uri) => {
      if (uri.endsWith('/0')) throw new MortiseError('resource_not_found', 'Nothing there.', { status: 404 });
      return [{ uri, text: uri }];
    },
  };

  return {
    aborted,
    finished,
    release: () => release(),
    hold: () => release,
    waiting: () => new Promise((resolve) => begun.push(resolve)),
    emitUpdate: (uri) => emitUpdate(uri),
    toggleExtra: () => toggleExtra(),
    plugin: {
      manifest: {
        key: 'probe',
        contributes: {
          tool: [...Object.keys(tools), 'extra_*'],
          'mcp-prompt': ['hello'],
          'mcp-resource': ['note', 'numbered'],
          'mcp-completion': ['hello-name'],
        },
      },
      definition: (): PluginDefinition => ({
        key: 'probe',
        register(host) {
          for (const [key, value] of Object.entries(tools)) host.contribute('tool', key, value);
          host.contribute('mcp-prompt', 'hello', hello);
          host.contribute('mcp-resource', 'note', note);
          host.contribute('mcp-resource', 'numbered', numbered);
          host.contribute('mcp-completion', 'hello-name', {
            ref: { type: 'ref/prompt', name: 'hello' },
            complete: async ({ value }) => ['Ada', 'Alan', 'Bob'].filter((name) => name.startsWith(value)),
          });
        },
        start(host) {
          emitUpdate = (uri) => host.emit('mcp-resource-updated', { uri });
          let extra: { dispose(): unknown } | undefined;
          toggleExtra = () => {
            if (extra) extra.dispose();
            extra = extra
              ? undefined
              : host.contribute(
                  'tool',
                  'extra_one',
                  tool(() => ({ ok: true })),
                );
          };
        },
      }),
    },
  };
}

/** The five memory tools, without a memory. */
export function fakeMemory(): TestPlugin {
  const names = ['evidence_upload', 'governance_update', 'reliability_report', 'memory_query', 'memory_store'];
  return {
    manifest: { key: 'zz-memory', contributes: { tool: names } },
    definition: (): PluginDefinition => ({
      key: 'zz-memory',
      register(host) {
        for (const name of names) {
          const inputSchema =
            name === 'memory_query'
              ? {
                  type: 'object',
                  required: ['query'],
                  properties: { query: { type: 'string' }, top_k: { type: 'integer', minimum: 1, maximum: 100 } },
                }
              : anything;
          host.contribute(
            'tool',
            name,
            tool(() => ({ ok: true, tool: name }), { inputSchema }),
          );
        }
      },
    }),
  };
}
