import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { errorOf, user } from 'mortise/contracts/agent/testing';
import type { JsonObject } from 'mortise/sdk';
import { createTestHost, oneDatabase, type TestHost, temporaryFolder, until } from 'mortise/sdk/testing';

const plugins = [
  'admin',
  'agent',
  'channel-console',
  'channel-webhook',
  'channels',
  'envs',
  'logbook',
  'memory-gateway',
  'models',
  'prompts',
  'provider-demo',
  'provider-openai',
  'skills',
  'tool-files',
  'tool-shell',
  'workspace',
];

describe('prompts, variables, skills and workspace as shipped', () => {
  oneDatabase((engine) => {
    const workspace = temporaryFolder('acceptance');
    let host: TestHost;

    async function open(env: Readonly<Record<string, string>> = {}): Promise<void> {
      host = await createTestHost({ plugins, database: engine.env, env: { MORTISE_WORKSPACE_DIR: workspace, ...env } });
    }
    before(async () => {
      await open();
    });
    after(() => host.stop());

    /** Restarts the host with other settings. */
    async function restart(env: Readonly<Record<string, string>>): Promise<void> {
      await host.stop();
      await open(env);
    }

    const get = async <T = JsonObject>(path: string): Promise<T> => (await (await host.fetch(path)).json()) as T;
    const send = (method: string, path: string, body: unknown) =>
      host.fetch(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    /** Sends the path unchanged; `fetch` would normalize it. */
    const rawGet = (path: string) =>
      new Promise<string>((done, fail) => {
        const { hostname, port } = new URL(host.origin);
        request({ hostname, port, path }, (response) => text(response).then(done, fail))
          .on('error', fail)
          .end();
      });
    const named = (session: string) => ({ session_id: session, user_id: 'u1', channel: 'console' });
    const process = (session: string, biz_params: object) =>
      host.post('/agent/process', { ...named(session), input: [user('hi')], biz_params });
    const shell = async (command: string) => {
      const response = await host.post('/agent/process', { ...named('shell'), shell: [{ command }] });
      return ((await response.json()) as { readonly reply: string }).reply;
    };
    const chatOf = async (session: string) =>
      (await get<(JsonObject & { readonly session_id: string })[]>('/chats')).find(
        (chat) => chat.session_id === session,
      );
    const prompt = async (name: string, content: string) => {
      await mkdir(join(workspace, 'prompts'), { recursive: true });
      await writeFile(join(workspace, 'prompts', name), content);
    };

    it('A34 refuses an unknown prompt mode and stores nothing', async () => {
      for (const mode of [null, 7, 'x']) {
        expect(await errorOf(await process('a34', { prompt_mode: mode })), String(mode)).to.deep.include({
          status: 400,
          message: 'invalid prompt_mode',
        });
      }
      expect(await chatOf('a34')).to.equal(undefined);
    });

    it('A36 A37 A38 keeps the collaboration mode in Codex mode, and refuses one in other modes', async () => {
      const plan = await process('a36', { prompt_mode: 'codex', collaboration_event: 'set_plan' });
      expect(plan.status).to.equal(200);
      const meta = async () => (await chatOf('a36'))?.meta as JsonObject;
      expect(await meta()).to.include({ collaboration_mode: 'Plan', collaboration_last_event: 'set_plan' });
      expect((await process('a36', {})).status).to.equal(200);
      expect(await meta()).to.include({ collaboration_mode: 'Plan' });
      expect(await errorOf(await process('a37', { collaboration_mode: 'plan' }))).to.deep.include({
        status: 400,
        message: 'collaboration mode is only supported when prompt_mode=codex',
      });
      const both = { prompt_mode: 'codex', collaboration_mode: 'plan', collaboration_event: 'set_execute' };
      expect(await errorOf(await process('a38', both))).to.deep.include({
        status: 400,
        message: 'conflicting collaboration_event',
      });
    });

    it('A47 masks variables, keeps values whose masks are sent back, and passes them to commands', async () => {
      expect((await send('PUT', '/envs', { A_TOKEN: 'abcdefgh', B: '1' })).status).to.equal(200);
      const variables = async () => {
        const listed = await get<{ readonly key: string; readonly value: string }[]>('/envs');
        return Object.fromEntries(listed.map(({ key, value }) => [key, value]));
      };
      const shown = await variables();
      expect(shown).to.deep.equal({ A_TOKEN: 'abc***fgh', B: '1' });
      expect((await send('PUT', '/envs', { ...shown, B: '2' })).status).to.equal(200);
      expect(await shell('echo $A_TOKEN$B')).to.contain('abcdefgh2');
    });

    it('A48 serves the references of a skill under both spellings of their path', async () => {
      const skill = { name: 'x', content: '# X', references: { 'guide.md': 'G' } };
      expect((await send('POST', '/skills', skill)).status).to.equal(200);
      for (const path of ['references%2Fguide.md', 'references/guide.md']) {
        expect(await get(`/skills/x/files/customized/${path}`), path).to.deep.equal({ content: 'G' });
      }
    });

    it('pages lists on request, and refuses an invalid limit or cursor', async () => {
      const { files } = await get<{ files: readonly { path: string }[] }>('/workspace/files');
      expect(files.length).to.be.greaterThan(2);
      const first = await host.fetch('/workspace/files?limit=2');
      expect(await first.json()).to.deep.equal({ files: files.slice(0, 2) });
      const cursor = first.headers.get('x-next-cursor');
      expect(await get(`/workspace/files?limit=1&cursor=${cursor}`)).to.deep.equal({ files: files.slice(2, 3) });
      for (const path of ['/models', '/skills', '/skills/available', '/envs', '/workspace/files']) {
        for (const query of ['limit=0', 'cursor=zzz']) {
          const { status, code } = await errorOf(await host.fetch(`${path}?${query}`));
          expect([status, code], `${path}?${query}`).to.deep.equal([400, 'invalid_request']);
        }
      }
    });

    it('A49 A50 confines paths to the workspace and validates its documents', async () => {
      expect(await rawGet('/workspace/files/%2e%2e/oops')).to.contain('"invalid_path"');
      expect(
        await errorOf(await send('PUT', '/workspace/files/config/active-llm.json', { provider_id: 'openai' })),
      ).to.deep.include({
        status: 400,
        code: 'invalid_model_slot',
        message: 'provider_id and model must be set together',
      });
      expect((await host.fetch('/workspace/files/config/envs.json', { method: 'DELETE' })).status).to.equal(405);
      expect(await errorOf(await send('POST', '/workspace/import', { mode: 'merge' }))).to.deep.include({
        status: 400,
        code: 'invalid_import_mode',
        message: 'mode must be replace',
      });
      const payload = { version: 'v1', config: { envs: { C: '3' } } };
      expect((await send('POST', '/workspace/import', { mode: 'replace', payload })).status).to.equal(200);
      expect(await get('/envs')).to.deep.equal([{ key: 'C', value: '3' }]);
      expect(await get<JsonObject[]>('/skills')).to.have.length(1);
    });

    it('A39 A40 shows the layers of a prompt when the feature is on, each with its hash', async () => {
      expect(await errorOf(await host.fetch('/agent/system-layers'))).to.include({
        status: 404,
        code: 'feature_disabled',
      });
      await prompt('AGENTS.md', 'You are Mortise.');
      await restart({ MORTISE_ENABLE_PROMPT_CONTEXT_INTROSPECT: 'true' });
      expect(await errorOf(await host.fetch('/agent/system-layers?prompt_mode=bad'))).to.deep.include({
        status: 400,
        message: 'invalid prompt_mode',
      });
      const shown = await get<{ layers: { name: string; layer_hash: string }[] }>(
        '/agent/system-layers?prompt_mode=default&task_command=zzz',
      );
      expect(shown.layers.find(({ name }) => name === 'base_system')?.layer_hash).to.equal(
        '959c644ee043a9cd1f5559c0078c6b6be9549a4498eb8139fa61c486a4b2aaf3',
      );
    });

    it('A25 refuses a disabled tool, with an audit row', async () => {
      await restart({ MORTISE_DISABLED_TOOLS: 'shell,edit' });
      const refused = await host.post('/agent/process', { ...named('a25'), shell: [{ command: 'true' }] });
      const correlationId = refused.headers.get('x-correlation-id');
      expect(await errorOf(refused)).to.deep.include({
        status: 403,
        code: 'tool_disabled',
        message: 'tool "shell" is disabled by server config',
      });
      await until('the audit row', async () => {
        const { rows } = await get<{ rows: JsonObject[] }>(`/memory/audit?correlation_id=${correlationId}`);
        return rows.some(({ reason }) => String(reason).includes('forbidden'));
      });
    });
  });
});
