import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

interface Layers {
  readonly mode_variant: string;
  readonly prompt_hash: string;
  readonly layers: readonly {
    name: string;
    source: string;
    layer_hash: string;
    content_preview: string;
    estimated_tokens: number;
  }[];
  readonly estimated_tokens_total: number;
}

const plugins = ['admin', 'agent', 'channel-console', 'provider-demo', 'prompts', 'skills'];
const on = { MORTISE_ENABLE_PROMPT_CONTEXT_INTROSPECT: 'true' };

describe('the system prompt', () => {
  let host: TestHost;

  async function start(env: Readonly<Record<string, string>> = on): Promise<void> {
    host = await createTestHost({ plugins, env });
  }
  afterEach(() => host.stop());

  const write = async (path: string, text: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(host.dataDir, path)), { recursive: true });
    await writeFile(join(host.dataDir, path), text);
  };
  const get = async <T = Layers>(query = ''): Promise<T> =>
    (await (await host.fetch(`/agent/system-layers${query}`)).json()) as T;
  const names = async (query = ''): Promise<readonly string[]> => (await get(query)).layers.map(({ name }) => name);
  const process = async (text: string, biz_params: object = {}) => {
    const input = [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }];
    const response = await host.post('/agent/process', { session_id: 's', user_id: 'u', input, biz_params });
    return {
      status: response.status,
      body: (await response.json()) as { error?: { code: string; message: string; details?: object } },
    };
  };

  it('of every mode works on a fresh machine', async () => {
    await start();
    for (const mode of ['default', 'codex', 'claude']) {
      expect((await process('hi', { prompt_mode: mode })).status, mode).to.equal(200);
    }
    expect(await names()).to.deep.equal(['base_system', 'tool_guide_system', 'environment_context_system']);
    expect(await names('?prompt_mode=codex')).to.deep.equal(['codex_base_system']);
    expect(await names('?prompt_mode=claude')).to.deep.equal([
      'claude_identity_system',
      'claude_workflow_system',
      'claude_reminder_start_system',
      'claude_reminder_end_system',
    ]);
  });

  it('has the texts of the workspace, as they are now', async () => {
    await start();
    await write('prompts/AGENTS.md', 'You are Mortise.');
    const [base] = (await get()).layers;
    expect(base).to.deep.include({
      source: 'prompts/AGENTS.md',
      layer_hash: '959c644ee043a9cd1f5559c0078c6b6be9549a4498eb8139fa61c486a4b2aaf3',
      content_preview: '## prompts/AGENTS.md\nYou are Mortise.',
    });
    await write('prompts/AGENTS.md', 'You are something else.');
    expect((await get()).layers[0]?.content_preview).to.contain('something else');
    await write('prompts/workspace-policy.md', 'Be careful.');
    await write('docs/ai-tools.md', 'Guide.');
    expect((await get()).layers.map(({ source }) => source)).to.deep.equal([
      'prompts/AGENTS.md',
      'docs/ai-tools.md',
      'prompts/workspace-policy.md',
      'runtime',
    ]);
  });

  it('ends the turn when a required text is blank', async () => {
    await start();
    await write('prompts/AGENTS.md', ' \n');
    expect(await process('hi')).to.deep.include({ status: 500 });
    expect((await process('hi')).body.error?.code).to.equal('ai_tool_guide_unavailable');
    await write('prompts/codex/codex-rs/core/prompt.md', '');
    expect((await process('hi', { prompt_mode: 'codex' })).body.error).to.include({
      code: 'codex_prompt_unavailable',
      message: 'codex prompt is unavailable',
    });
  });

  it('ends the turn when a required text is not UTF-8, and does without an optional one', async () => {
    await start();
    for (const bytes of [Buffer.from([0x42, 0xff, 0xfe, 0x65]), Buffer.from('Be\0brief.')]) {
      await write('prompts/AGENTS.md', bytes);
      const { status, body } = await process('hi');
      expect([status, body.error?.code]).to.deep.equal([500, 'ai_tool_guide_unavailable']);
      expect(body.error?.details).to.deep.equal({ reason: 'the prompt file prompts/AGENTS.md is not UTF-8 text' });
    }
    await write('prompts/AGENTS.md', 'Be brief.');
    await write('prompts/workspace-policy.md', Buffer.from([0xc3, 0x28]));
    expect((await process('hi')).status).to.equal(200);
    expect(await names()).to.not.include('workspace_policy_system');
    await write('prompts/codex/codex-rs/core/templates/personalities/gpt-5.2-codex_pragmatic.md', Buffer.from([0xff]));
    expect((await process('hi', { prompt_mode: 'codex' })).status).to.equal(200);
    await write('prompts/workspace-policy.md', Buffer.alloc(1_048_577, 'x'));
    expect((await process('hi', { prompt_mode: 'default' })).status).to.equal(200);
  });

  it('of codex and claude is unavailable without its files where the shipped texts are off (A35)', async () => {
    await start({ ...on, MORTISE_SHIPPED_PROMPTS: 'false' });
    expect((await process('hi', { prompt_mode: 'codex' })).body.error?.code).to.equal('codex_prompt_unavailable');
    expect((await process('hi', { prompt_mode: 'claude' })).body.error?.code).to.equal('claude_prompt_unavailable');
    expect((await process('hi')).status).to.equal(200);
  });

  it('never follows a link out of the workspace', async () => {
    await start();
    const policy = join(host.dataDir, 'prompts', 'workspace-policy.md');
    await mkdir(dirname(policy));
    await symlink('/etc/hostname', policy);
    expect(await names()).to.not.contain('workspace_policy_system');
    await rm(policy);
    await writeFile(policy, 'Be brief.');
    expect(await names()).to.contain('workspace_policy_system');
    await rm(policy);
    await symlink('/etc/hostname', policy);
    expect(await names()).to.not.contain('workspace_policy_system');
  });

  it('has the policy of the session and the enabled skills', async () => {
    await start();
    const chat = { session_id: 's7', user_id: 'u', channel: 'console', meta: { session_policy: 'Speak French.' } };
    await host.post('/chats', chat);
    await host.post('/skills', { name: 'x', content: 'Do x.' });
    const { layers } = await get('?session_id=s7');
    expect(layers.map(({ name, source }) => [name, source])).to.deep.equal([
      ['base_system', 'prompts/AGENTS.md'],
      ['tool_guide_system', 'prompts/ai-tools.md'],
      ['session_policy_system', 'session://policy'],
      ['environment_context_system', 'runtime'],
      ['skills_system', 'runtime://skills'],
    ]);
  });

  it('of codex has templates in both layouts, the task of the first word, and equal texts once in the second', async () => {
    await start({ ...on, MORTISE_ENABLE_PROMPT_TEMPLATES: 'true' });
    const install = (mode: string) =>
      host.post('/admin/commands/prompts-install', { args: [], options: { mode }, json: true });
    expect((await install('codex')).status).to.equal(200);
    await install('default');
    const v1 = [
      'codex_base_system',
      'codex_orchestrator_system',
      'codex_model_instructions_system',
      'codex_collaboration_plan_system',
      'codex_experimental_collab_system',
      'codex_local_policy_system',
    ];
    expect(await names('?prompt_mode=codex&collaboration_mode=plan')).to.deep.equal(v1);
    const review = await names('?prompt_mode=codex&task_command=review');
    expect(review).to.contain('codex_review_system').and.to.contain('codex_collaboration_default_system');
    const { dataDir } = host;
    await host.app.stop(Date.now() + 2_000);
    host = await createTestHost({ plugins, dataDir, env: { ...on, MORTISE_ENABLE_CODEX_MODE_V2: 'true' } });
    expect((await get('?prompt_mode=codex')).mode_variant).to.equal('codex_v2');
    expect(await names('?prompt_mode=codex')).to.include('codex_tool_guide_system');
    const guide = await readFile(join(host.dataDir, 'prompts/ai-tools.md'), 'utf8');
    await write('prompts/AGENTS.md', guide);
    expect(await names('?prompt_mode=codex'))
      .to.include('codex_local_policy_system')
      .and.not.include('codex_tool_guide_system');
  });

  it('is described only where the feature is on, and refuses parameters that do not exist', async () => {
    await start();
    const refused = async (query: string) =>
      (await get<{ error?: { code: string; message: string } }>(query)).error?.message;
    expect(await refused('?prompt_mode=bad')).to.equal('invalid prompt_mode');
    expect(await refused('?prompt_mode=default&task_command=zzz')).to.equal(undefined);
    expect(await refused('?prompt_mode=codex&task_command=zzz')).to.equal('invalid task_command');
    expect(await refused('?prompt_mode=codex&collaboration_mode=zzz')).to.equal('invalid collaboration_mode');
    expect(await refused('?prompt_mode=codex&collaboration_event=zzz')).to.equal('invalid collaboration_event');
  });

  it('is not described without the feature', async () => {
    await start({});
    const response = await host.fetch('/agent/system-layers');
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).to.deep.equal([
      404,
      'feature_disabled',
    ]);
    expect(await (await host.fetch('/runtime-config')).json()).to.deep.equal({
      features: { prompt_templates: false, prompt_context_introspect: false, codex_mode_v2: false },
    });
  });

  it('takes model instructions from the catalogue, for the model or the default one', async () => {
    await start({ ...on, MORTISE_ENABLE_PROMPT_TEMPLATES: 'true', MORTISE_CODEX_PROMPT_SOURCE: 'catalog' });
    const source = async () =>
      (await get('?prompt_mode=codex')).layers.find(({ name }) => name === 'codex_model_instructions_system')?.source;
    expect(await source()).to.equal(undefined);
    await write(
      'prompts/codex/models.runtime.json',
      JSON.stringify([
        {
          slug: 'gpt-5.2-codex',
          model_messages: {
            instructions_template: 'Be {{ personality }}.',
            instructions_variables: { personality_pragmatic: 'brief' },
          },
        },
      ]),
    );
    expect(await source()).to.equal('prompts/codex/models.runtime.json#gpt-5.2-codex');
    await write('prompts/codex/models.runtime.json', '{');
    expect(await source()).to.equal(undefined);
  });
});

describe('the collaboration mode', () => {
  let host: TestHost;
  before(async () => {
    host = await createTestHost({ plugins });
  });
  after(() => host.stop());

  const turn = async (biz_params: object) => {
    const input = [{ role: 'user', type: 'message', content: [{ type: 'text', text: '/plan' }] }];
    const response = await host.post('/agent/process', { session_id: 'c', user_id: 'u', input, biz_params });
    const chats = (await (await host.fetch('/chats?user_id=u')).json()) as { meta: Record<string, unknown> }[];
    const { error } = (await response.json()) as { error?: { message: string } };
    return { message: error?.message, meta: chats[0]?.meta ?? {} };
  };

  it('is stored with the chat, changes on request, and stays otherwise', async () => {
    expect((await turn({ prompt_mode: 'codex' })).meta).to.include({ collaboration_mode: 'Default' });
    expect((await turn({ prompt_mode: 'codex', collaboration_event: 'set_plan' })).meta).to.include({
      collaboration_mode: 'Plan',
      collaboration_last_event: 'set_plan',
      collaboration_event_source: 'biz_params',
    });
    expect((await turn({})).meta).to.include({ collaboration_mode: 'Plan', collaboration_last_event: 'set_plan' });
    expect((await turn({ collaboration: { event: 'exit' } })).meta).to.include({ collaboration_mode: 'Default' });
    expect((await turn({ collaboration_mode: 'Pair-Programming' })).meta).to.include({
      collaboration_mode: 'PairProgramming',
      collaboration_last_event: 'set_pair_programming',
    });
  });

  it('is refused where it does not exist, is unknown, or contradicts itself', async () => {
    const refused = async (biz_params: object) => (await turn({ prompt_mode: 'codex', ...biz_params })).message;
    expect(await refused({ collaboration_mode: 'zzz' })).to.equal('invalid collaboration_mode');
    expect(await refused({ collaboration_event: 'toString' })).to.equal('invalid collaboration_event');
    expect(await refused({ collaboration: 'plan' })).to.equal('invalid collaboration_event');
    expect(await refused({ collaboration_mode: 'plan', collaboration_event: 'set_execute' })).to.equal(
      'conflicting collaboration_event',
    );
    expect(await refused({ prompt_mode: 'default', collaboration_mode: 'plan' })).to.equal(
      'collaboration mode is only supported when prompt_mode=codex',
    );
  });
});
