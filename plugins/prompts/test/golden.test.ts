import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { canonicalJson } from 'mortise/sdk';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');
/** Rewritten by a run with UPDATE_GOLDEN=true; the difference is part of the review then. */
const goldenFile = join(project, 'plugins', 'prompts', 'test', 'golden-layers.json');

interface Layer {
  readonly name: string;
  readonly role: string;
  readonly source: string;
  readonly content_preview: string;
  readonly layer_hash: string;
  readonly estimated_tokens: number;
}
interface Table {
  readonly version: string;
  readonly mode_variant: string;
  readonly prompt_hash: string;
  readonly layers: readonly Layer[];
  readonly estimated_tokens_total: number;
}

const codex = 'prompts/codex/codex-rs/core';
const claude = 'prompts/claude/claude-code-reverse';
const policy = 'Keep the tests green. 保持测试通过。';

/** Texts of a workspace: short and long ones, templates, Windows line ends, Han, and two that are equal. */
const texts: Readonly<Record<string, string>> = {
  'prompts/AGENTS.md': policy,
  'prompts/ai-tools.md': 'Use the tools.\r\nOne at a time.\r\n',
  'prompts/workspace-policy.md': 'Stay in the workspace.',
  'prompts/session-policy.md': ' \n',
  [`${codex}/prompt.md`]: `You write code. ${'Step by step. '.repeat(20)}`,
  [`${codex}/review_prompt.md`]: 'Review the change.',
  [`${codex}/templates/agents/orchestrator.md`]: 'Modes: {{ KNOWN_MODE_NAMES }}.',
  [`${codex}/templates/model_instructions/gpt-5.2-codex_instructions_template.md`]: 'Be {{personality}}.',
  [`${codex}/templates/personalities/gpt-5.2-codex_pragmatic.md`]: 'pragmatic\n',
  [`${codex}/templates/collaboration_mode/default.md`]: 'Mode {{TURN_MODE}}, approval {{TURN_APPROVAL_POLICY}}.',
  [`${codex}/templates/collaboration_mode/plan.md`]: 'Plan; questions: {{REQUEST_USER_INPUT_AVAILABLE}}.',
  [`${codex}/templates/collab/experimental_prompt.md`]: 'Missing: {{ NO_SUCH_VARIABLE }}.',
  [`${codex}/templates/review/history_message_completed.md`]: 'Reviewed.',
  [`${codex}/templates/review/history_message_interrupted.md`]: 'Interrupted.',
  [`${codex}/templates/compact/prompt.md`]: 'Summarise.',
  [`${codex}/templates/compact/summary_prefix.md`]: 'Summary:',
  [`${claude}/results/prompts/system-identity.prompt.md`]: 'You are an agent.',
  [`${claude}/results/prompts/system-workflow.prompt.md`]: 'Plan, then act.',
  [`${claude}/results/prompts/system-reminder-start.prompt.md`]: 'Reminder.',
  [`${claude}/results/prompts/system-reminder-end.prompt.md`]: '## another heading\nReminder.',
  [`${claude}/tool-adapter-nextai.md`]: 'Plan, then act.\r\n',
};

const codexQueries = [
  'prompt_mode=codex',
  'prompt_mode=codex&collaboration_mode=plan',
  'prompt_mode=codex&task_command=review',
  'prompt_mode=codex&task_command=/compact',
];

/** Settings by name, and what is asked with them. */
const layouts: Readonly<
  Record<string, { readonly env: Readonly<Record<string, string>>; readonly queries: readonly string[] }>
> = {
  plain: { env: {}, queries: ['', 'prompt_mode=claude', ...codexQueries] },
  templates: { env: { MORTISE_ENABLE_PROMPT_TEMPLATES: 'true' }, queries: codexQueries },
  v2: { env: { MORTISE_ENABLE_CODEX_MODE_V2: 'true' }, queries: codexQueries },
};

/** The layer of the environment has the path of the machine. */
const varies = 'environment_context_system';

describe('the layers of every mode', () => {
  let host: TestHost;
  afterEach(() => host.stop());

  async function start(env: Readonly<Record<string, string>>): Promise<void> {
    const plugins = ['agent', 'channel-console', 'provider-demo', 'prompts', 'skills', 'tool-plan'];
    host = await createTestHost({ plugins, env: { MORTISE_ENABLE_PROMPT_CONTEXT_INTROSPECT: 'true', ...env } });
    for (const [path, text] of Object.entries(texts)) {
      await mkdir(dirname(join(host.dataDir, path)), { recursive: true });
      await writeFile(join(host.dataDir, path), text);
    }
  }
  const tableOf = async (query: string): Promise<Table> =>
    (await (await host.fetch(`/agent/system-layers?${query}`)).json()) as Table;

  const golden = async (): Promise<Readonly<Record<string, unknown>>> =>
    JSON.parse(await readFile(goldenFile, 'utf8').catch(() => '{}')) as Readonly<Record<string, unknown>>;

  for (const [name, { env, queries }] of Object.entries(layouts)) {
    it(`are the recorded ones, with hashes and sizes: ${name}`, async () => {
      await start(env);
      const tables = Object.fromEntries(
        await Promise.all(queries.map(async (query) => [query, recorded(await tableOf(query))] as const)),
      );
      if (process.env.UPDATE_GOLDEN === 'true') {
        await writeFile(goldenFile, `${JSON.stringify({ ...(await golden()), [name]: tables }, null, 2)}\n`);
      }
      expect(tables).to.deep.equal((await golden())[name]);
    });
  }

  it('have a hash that follows from the table', async () => {
    await start({});
    for (const query of ['', 'prompt_mode=claude', 'prompt_mode=codex&collaboration_mode=plan']) {
      const { mode_variant, prompt_hash, layers, estimated_tokens_total } = await tableOf(query);
      const named = layers.map(({ name, role, source, layer_hash }) => ({
        name,
        role,
        source,
        content_hash: layer_hash,
      }));
      const collaboration_mode = query.includes('plan') ? 'Plan' : 'Default';
      const text = canonicalJson({ mode_variant, collaboration_mode, layers: named });
      expect(prompt_hash, query).to.equal(createHash('sha256').update(text).digest('hex'));
      expect(estimated_tokens_total).to.equal(layers.reduce((sum, { estimated_tokens }) => sum + estimated_tokens, 0));
    }
  });

  it('have the hash of their content and heading, whatever its line ends are', async () => {
    await start({});
    const { layers } = await tableOf('');
    const guide = layers.find(({ name }) => name === 'tool_guide_system');
    const content = '## prompts/ai-tools.md\nUse the tools.\nOne at a time.';
    expect(guide).to.include({ layer_hash: createHash('sha256').update(content).digest('hex') });
    // The heading's mark, its path of 19 characters, and the words: one for every four characters that have begun.
    expect(guide).to.include({ estimated_tokens: 1 + 5 + 1 + 1 + 2 + 1 + 1 + 1 + 2 });
    const base = layers.find(({ name }) => name === 'base_system');
    // Each Han character counts one; the full stop after them is a word of its own.
    expect(base).to.include({ estimated_tokens: 1 + 5 + 1 + 1 + 2 + 2 + 6 + 1 });
  });
});

/** A table without what depends on the machine. */
function recorded(table: Table): object {
  const isStable = !table.layers.some(({ name }) => name === varies);
  const layers = table.layers.map(({ name, source, content_preview, layer_hash, estimated_tokens }) =>
    name === varies ? { name, source } : { name, source, content_preview, layer_hash, estimated_tokens },
  );
  const { version, mode_variant, prompt_hash, estimated_tokens_total } = table;
  return { version, mode_variant, ...(isStable ? { prompt_hash, estimated_tokens_total } : {}), layers };
}
