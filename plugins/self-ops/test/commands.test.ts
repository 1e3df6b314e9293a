import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

interface Outcome {
  readonly exitCode: number;
  readonly data: Readonly<Record<string, string>>;
  readonly text: string;
}

const change = { target: 'workspace_file', operations: [{ kind: 'replace', path: 'prompts/a.md', value: 'text\n' }] };

describe('self-operation from a terminal', () => {
  let host: TestHost;
  before(async () => {
    host = await createTestHost({ plugins: ['admin', 'self-ops', 'provider-demo', 'channel-console'] });
  });
  after(() => host.stop());

  const run = async (command: string, body?: object, args: readonly string[] = []) => {
    const options = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await host.post(`/admin/commands/${command}`, { args, options, json: false });
    return (await response.json()) as Outcome & { readonly error?: { readonly code: string } };
  };

  it('shows a change and makes it', async () => {
    const { data, text } = await run('self-preview', change);
    expect(text).to.contain('+text').and.to.contain('Risk: medium').and.to.contain(data.mutation_id);
    const { mutation_id, confirm_hash } = data;
    expect((await run('self-apply', { mutation_id, confirm_hash })).text).to.contain('Changed: prompts/a.md');
    expect(await readFile(join(host.dataDir, 'prompts', 'a.md'), 'utf8')).to.equal('text\n');
    expect((await run('self-apply', { mutation_id, confirm_hash })).error?.code).to.equal('mutation_apply_conflict');
    const unchanged = await run('self-preview', change);
    expect(unchanged.text).to.contain('Nothing would change.').and.to.contain('Risk: low');
  });

  it('says why a change cannot be made', async () => {
    const denied = await run('self-preview', {
      ...change,
      operations: [{ kind: 'replace', path: '../x', value: 'x' }],
    });
    expect(denied.text).to.contain('May not be changed: ../x');
    const blank = await run('self-preview', {
      ...change,
      operations: [{ kind: 'replace', path: 'prompts/a.md', value: '' }],
    });
    expect(blank.text).to.contain('Not valid: prompts/a.md would be blank');
  });

  it('starts a session and chooses its model', async () => {
    const { text } = await run('self-bootstrap', { user_id: 'u', first_input: 'hi', session_seed: 's' });
    expect(text).to.match(/^Session s, chat chat-\d+\n\nEcho: hi$/);
    const slot = { user_id: 'u', provider_id: 'demo', model: 'demo-chat' };
    expect((await run('self-model', slot, ['s'])).text).to.equal('The session s uses demo/demo-chat.');
  });

  it('needs a body, and the session of a model', async () => {
    for (const command of ['self-bootstrap', 'self-preview', 'self-apply']) {
      expect((await run(command)).exitCode, command).to.equal(2);
    }
    expect((await run('self-model', {})).exitCode).to.equal(2);
    expect((await run('self-model', undefined, ['s'])).exitCode).to.equal(2);
  });

  it('answers a direct call of its tool with one code and the cause', async () => {
    const call = async (input: object) => {
      const body = { session_id: 't', user_id: 'u', input: [], biz_params: { tool: { name: 'self_ops', input } } };
      const response = await host.post('/agent/process', body);
      return { status: response.status, body: (await response.json()) as { reply: string; error?: object } };
    };
    const failed = await call({ action: 'apply_mutation', mutation_id: 'mutation-1', confirm_hash: 'x' });
    expect(failed.status).to.equal(502);
    expect(failed.body.error).to.deep.include({
      code: 'tool_invoke_failed',
      message: 'mutation_not_found: mutation not found',
    });
    const shown = await call({ action: 'preview_mutation', ...change });
    expect(JSON.parse(shown.body.reply)).to.deep.include({ ok: true, action: 'preview_mutation' });
    expect((await call({ action: 'none' })).status).to.equal(400);
  });
});
