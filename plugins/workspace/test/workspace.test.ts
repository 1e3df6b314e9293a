import { mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { JsonObject } from 'mortise/sdk';
import { createTestHost, databaseProbe, eachDatabase, type TestHost, temporaryFolder } from 'mortise/sdk/testing';

const plugins = [
  'admin',
  'workspace',
  'envs',
  'channels',
  'channel-console',
  'channel-webhook',
  'models',
  'provider-openai',
  'skills',
  'cron',
  'cron-nodes',
  'self-ops',
];
const adminKey = 'admin-key-of-the-test';
const userKeys = JSON.stringify([
  { id: 'anna', key: 'key-of-anna-0123456789', actor: 'anna' },
  { id: 'lead', key: 'key-of-lead-0123456789', actor: 'lena', admin: true },
]);

interface Answer {
  readonly status: number;
  // The shape is what each test asserts.
  readonly body: JsonObject;
  readonly code: string | undefined;
  readonly message: string | undefined;
}

describe('workspace files', () => {
  eachDatabase((engine) => {
    const probe = databaseProbe(['agent']);
    let host: TestHost;
    let folder: string;

    beforeEach(async () => {
      folder = temporaryFolder('workspace');
      host = await open(folder);
    });
    afterEach(() => host.stop());

    const open = (workspaceDir: string, env: Readonly<Record<string, string>> = {}): Promise<TestHost> =>
      createTestHost({
        plugins,
        extra: [probe.plugin],
        database: engine.env,
        env: { MORTISE_WORKSPACE_DIR: workspaceDir, GOVERNANCE_ADMIN_KEY: adminKey, ...env },
      });

    const answerOf = async (response: Response): Promise<Answer> => {
      const body = (await response.json()) as JsonObject & { error?: { code: string; message: string } };
      return { status: response.status, body, code: body.error?.code, message: body.error?.message };
    };
    const call = async (method: string, path: string, body?: unknown, headers: object = {}): Promise<Answer> =>
      answerOf(
        await host.fetch(`/workspace/${path}`, {
          method,
          headers: { 'content-type': 'application/json', ...headers },
          ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      );
    const put = (path: string, body: unknown) => call('PUT', `files/${path}`, body);
    const get = (path: string, headers: object = {}) => call('GET', `files/${path}`, undefined, headers);
    const upload = async (form: FormData | string, type?: string): Promise<Answer> =>
      answerOf(
        await host.fetch('/workspace/uploads', {
          method: 'POST',
          body: form,
          ...(type === undefined ? {} : { headers: { 'content-type': type } }),
        }),
      );

    describe('of prompts', () => {
      it('are written with their folders, listed and read', async () => {
        expect((await put('prompts/deep/er/review.md', { content: 'Review it.\n' })).body).to.deep.equal({
          updated: true,
        });
        expect(await readFile(join(folder, 'prompts/deep/er/review.md'), 'utf8')).to.equal('Review it.\n');
        expect((await get('prompts%2Fdeep%2Fer%2Freview.md')).body).to.deep.equal({ content: 'Review it.\n' });
        const { files } = (await call('GET', 'files')).body;
        expect(files).to.deep.include({ path: 'prompts/deep/er/review.md', kind: 'config', size: 11 });
        const paths = (files as { path: string }[]).map(({ path }) => path);
        expect(paths).to.deep.equal([...paths].sort());
      });

      it('are not blank, not deleted and not missing', async () => {
        for (const body of [{}, { content: ' \n' }, { content: 3 }]) {
          expect(await put('prompts/a.md', body)).to.deep.include({
            status: 400,
            code: 'invalid_ai_tools_guide',
            message: 'content is required',
          });
        }
        expect((await put('prompts/a.md', { content: 'a\u0000' })).message).to.contain('contains a NUL character');
        expect(await call('DELETE', 'files/prompts/a.md')).to.deep.include({ status: 405, code: 'method_not_allowed' });
        expect(await get('prompts/none.md')).to.deep.include({ status: 404, message: 'workspace file not found' });
      });

      it('are no larger than a prompt may be', async () => {
        const refused = await put('prompts/large.md', { content: 'x'.repeat(1_048_577) });
        expect([refused.code, refused.message]).to.deep.equal([
          'invalid_ai_tools_guide',
          'the text is larger than 1 MiB, the maximum size of a prompt',
        ]);
        expect((await put('prompts/large.md', { content: 'x'.repeat(1_048_576) })).status).to.equal(200);
      });

      it('include the configured tool guide', async () => {
        await host.stop();
        host = await open(folder, { MORTISE_AI_TOOLS_GUIDE_PATH: 'guides/tools.md' });
        expect((await put('guides/tools.md', { content: 'x' })).status).to.equal(200);
        expect((await put('guides/other.md', { content: 'x' })).code).to.equal('invalid_path');
      });

      it('include an absolute path of the tool guide, and list no file twice', async () => {
        await host.stop();
        host = await open(folder, { MORTISE_AI_TOOLS_GUIDE_PATH: join(folder, 'prompts/tools.md') });
        expect((await put('prompts/tools.md', { content: 'x' })).status).to.equal(200);
        const { files } = (await call('GET', 'files')).body as unknown as { files: { path: string }[] };
        expect(files.filter(({ path }) => path === 'prompts/tools.md')).to.have.lengthOf(1);
      });

      it('are refused where the path names a folder, or is below a file or too long', async () => {
        await put('prompts/deep/review.md', { content: 'x' });
        const paths = ['prompts/deep', 'prompts/deep/review.md/more.md', `prompts/${'a/'.repeat(2_500)}b.md`];
        for (const path of [...paths, `prompts/${'a'.repeat(300)}.md`]) {
          const { status, code } = await put(path, { content: 'y' });
          expect([status, code], path.slice(0, 40)).to.deep.equal([400, 'invalid_path']);
        }
        expect((await get('prompts/deep/review.md')).body).to.deep.equal({ content: 'x' });
      });

      it('are not shown when they are no texts', async () => {
        await mkdir(join(folder, 'prompts'));
        await writeFile(join(folder, 'prompts', 'image.md'), Buffer.from([0xff, 0, 1]));
        await writeFile(join(folder, 'prompts', 'gbk.md'), Buffer.from([0xd6, 0xd0, 0xce, 0xc4]));
        for (const path of ['prompts/image.md', 'prompts/gbk.md']) {
          expect(await get(path), path).to.deep.include({ status: 422, code: 'unsupported_file' });
        }
      });
    });

    describe('outside of the workspace', () => {
      it('are refused, however their path is written', async () => {
        const escapes = [
          '%2e%2e/oops',
          'prompts/%2e%2e/%2e%2e/oops',
          'prompts/../../oops',
          'prompts//a.md',
          'prompts/%5c..%5coops',
          'prompts/a%00.md',
          'prompts/%20/a.md',
          'prompts/.',
          'prompts/%0a',
        ];
        for (const path of escapes) {
          for (const method of ['GET', 'PUT', 'DELETE']) {
            const { status, code } = await call(
              method,
              `files/${path}`,
              method === 'PUT' ? { content: 'x' } : undefined,
            );
            // The client resolves plain dots before it sends them.
            expect([400, 404], `${method} ${path}`).to.include(status);
            expect(['invalid_path', 'not_found']).to.include(code);
          }
        }
        expect((await get('prompts/%')).code).to.equal('invalid_path');
        expect((await put('src/index.ts', { content: 'x' })).code).to.equal('invalid_path');
        expect((await get('src/index.ts')).status).to.equal(404);
        expect(await readdir(folder)).to.not.include('oops');
      });

      it('are not reached through links', async () => {
        const outside = temporaryFolder('outside');
        await writeFile(join(outside, 'secret.md'), 'secret');
        await mkdir(join(folder, 'prompts'));
        await symlink(outside, join(folder, 'prompts', 'out'));
        await symlink(join(outside, 'secret.md'), join(folder, 'prompts', 'secret.md'));
        for (const path of ['prompts/out/secret.md', 'prompts/secret.md']) {
          expect((await get(path)).code).to.equal('invalid_path');
          expect((await put(path, { content: 'x' })).code).to.equal('invalid_path');
        }
        expect((await put('prompts/out/new.md', { content: 'x' })).code).to.equal('invalid_path');
        expect(await readFile(join(outside, 'secret.md'), 'utf8')).to.equal('secret');
        expect(JSON.stringify((await call('GET', 'files')).body)).to.not.contain('secret.md');
      });

      it('are not searched for files when a folder is a link', async () => {
        await writeFile(join(folder, 'notes.md'), 'private');
        await symlink('/', join(folder, 'prompt'));
        await symlink('..', join(folder, 'prompts'));
        const { files } = (await call('GET', 'files')).body as unknown as { files: { path: string }[] };
        expect(files.filter(({ path }) => !path.startsWith('config/'))).to.deep.equal([]);
      });
    });

    describe('of settings', () => {
      it('are documents that replace what is stored, with secrets masked', async () => {
        expect((await put('config/envs.json', { A_TOKEN: 'abcdefgh', B: '1' })).status).to.equal(200);
        expect((await get('config/envs.json')).body).to.deep.equal({ A_TOKEN: 'abc***fgh', B: '1' });
        expect((await put('config/envs.json', { 'A=B': '1' })).code).to.equal('invalid_env_key');
        await put('config/models.json', { openai: { api_key: 'sk-abcdef123456', timeout_ms: 5_000 } });
        expect((await get('config/models.json')).body).to.deep.equal({
          openai: { api_key: 'sk-***456', timeout_ms: 5_000 },
        });
        expect((await put('config/models.json', { openai: { timeout_ms: -1 } })).code).to.equal(
          'invalid_provider_config',
        );
        expect((await put('config/channels.json', { sms: {} })).code).to.equal('channel_not_supported');
        expect((await call('DELETE', 'files/config/envs.json')).message).to.equal('config files cannot be deleted');
      });

      it('hold the active model, which goes with its provider', async () => {
        expect((await get('config/active-llm.json')).body).to.deep.equal({ provider_id: '', model: '' });
        expect(await put('config/active-llm.json', { provider_id: 'openai' })).to.deep.include({
          status: 400,
          code: 'invalid_model_slot',
          message: 'provider_id and model must be set together',
        });
        expect((await put('config/active-llm.json', { provider_id: 'ghost', model: 'm' })).code).to.equal(
          'provider_not_found',
        );
        await put('config/models.json', { openai: { api_key: 'sk-abcdef123456' } });
        expect((await put('config/active-llm.json', { provider_id: 'openai', model: 'gpt-4o-mini' })).status).to.equal(
          200,
        );
        await put('config/models.json', {});
        expect((await get('config/active-llm.json')).body).to.deep.equal({ provider_id: '', model: '' });
      });

      it('hold skills by name', async () => {
        const skill = { name: 'greet', content: 'Greet.', references: { 'a.md': 'A' }, scripts: {} };
        expect((await put('skills/greet.json', skill)).status).to.equal(200);
        expect((await get('skills/greet.json')).body).to.deep.include({
          ...skill,
          enabled: true,
          source: 'customized',
        });
        expect((await put('skills/other.json', skill)).message).to.equal('skill name in body must match file path');
        expect((await call('DELETE', 'files/skills/greet.json')).body).to.deep.equal({ deleted: true });
        expect((await call('DELETE', 'files/skills/greet.json')).body).to.deep.equal({ deleted: false });
      });

      it('show secrets with the admin right of a configured key alone, and record it', async () => {
        await put('config/envs.json', { A_TOKEN: 'abcdefgh' });
        const path = 'config/envs.json?reveal=true';
        const admin = { 'x-admin-key': adminKey };
        expect((await get(path, admin)).body).to.deep.equal({ A_TOKEN: 'abcdefgh' });
        expect((await call('GET', 'export?reveal=true', undefined, admin)).body).to.have.nested.property(
          'config.envs.A_TOKEN',
          'abcdefgh',
        );
        expect(await get(path)).to.deep.include({ status: 403, code: 'forbidden' });
      });

      it('are those of active plugins', async () => {
        await host.control.disable('channels');
        const { files } = (await call('GET', 'files')).body as unknown as { files: { path: string }[] };
        expect(files.map(({ path }) => path))
          .to.include('config/envs.json')
          .and.not.include('config/channels.json');
        expect(await get('config/channels.json')).to.deep.include({ status: 503, code: 'not_available' });
      });

      it('are not for keys that are bound to a user', async () => {
        await host.stop();
        host = await open(folder, { MORTISE_API_KEYS: userKeys });
        const key = { 'x-api-key': 'key-of-anna-0123456789' };
        for (const [method, path] of [
          ['GET', 'files'],
          ['GET', 'files/config/envs.json'],
          ['PUT', 'files/prompts/a.md'],
          ['GET', 'export'],
          ['POST', 'import'],
        ] as const) {
          const body = method === 'GET' ? undefined : { content: 'x' };
          expect((await call(method, path, body, key)).code, path).to.equal('forbidden');
        }
      });

      it('are for a key that is bound to a user and has the admin right, as are the settings behind them', async () => {
        await host.stop();
        host = await open(folder, { MORTISE_API_KEYS: userKeys });
        const headers = { 'x-api-key': 'key-of-lead-0123456789' };
        await call('PUT', 'files/config/envs.json', { A_TOKEN: 'abcdefgh' }, headers);
        const shown = await call('GET', 'export?reveal=true', undefined, headers);
        expect(shown.body).to.have.nested.property('config.envs.A_TOKEN', 'abcdefgh');
        for (const path of ['/envs?reveal=true', '/config/channels', '/skills']) {
          expect((await host.fetch(path, { headers })).status, path).to.equal(200);
        }
      });
    });

    describe('of uploads', () => {
      it('are stored under a clean name for their owner alone', async () => {
        const form = new FormData();
        form.set('file', new File(['hello'], '../../ä etc/my report (1).pdf'));
        const { status, body } = await upload(form);
        expect(status).to.equal(200);
        expect(body).to.deep.include({ uploaded: true, name: 'my_report_1.pdf', size: 5 });
        expect(String(body.path)).to.match(/\/data\/uploads\/upload-\d+-my_report_1\.pdf$/);
        expect(await readFile(String(body.path), 'utf8')).to.equal('hello');
        expect((await stat(String(body.path))).mode & 0o777).to.equal(0o600);
      });

      it('need a file in a complete form', async () => {
        expect((await upload(new FormData())).message).to.equal('multipart field "file" is required');
        const broken = await upload('--b\r\ncontent-disposition: form-data; na', 'multipart/form-data; boundary=b');
        expect(broken).to.deep.include({
          status: 400,
          code: 'invalid_multipart',
          message: 'invalid multipart form data',
        });
      });

      it('are at most 20 MiB', async () => {
        const form = new FormData();
        const most = 20 * 1024 * 1024;
        for (const size of [most + 1, most + 1024 * 1024]) {
          form.set('file', new File([new Uint8Array(size)], 'big'));
          const { status, code, body } = await upload(form);
          expect([status, code]).to.deep.equal([413, 'payload_too_large']);
          expect(body).to.have.nested.property('error.details.max_bytes', most);
        }
      });

      it('are deleted when they are old', async () => {
        const form = new FormData();
        form.set('file', new File(['x'], 'old.txt'));
        const old = String((await upload(form)).body.path);
        const recent = String((await upload(form)).body.path);
        const days = 86_400_000;
        await utimes(old, new Date(Date.now() - 31 * days), new Date(Date.now() - 31 * days));
        await host.control.disable('workspace');
        await host.control.enable('workspace');
        const left = await readdir(join(host.dataDir, 'data', 'uploads'));
        expect(left.map((name) => join(host.dataDir, 'data', 'uploads', name))).to.deep.equal([recent]);
      });
    });

    describe('as a whole', () => {
      const skills = { greet: { name: 'greet', content: 'Greet.', references: { 'a.md': 'A' }, enabled: false } };
      const config = {
        envs: { A_TOKEN: 'abcdefgh', B: '1' },
        channels: { webhook: { enabled: true, url: 'https://example.com/hook', secret: 'secret-abcdef' } },
        models: {
          providers: { openai: { api_key: 'sk-abcdef123456', timeout_ms: 5_000 } },
          active_llm: { provider_id: 'openai', model: 'gpt-4o-mini' },
        },
      };
      const importing = (payload: unknown, mode = 'replace') => call('POST', 'import', { mode, payload });
      const exported = async (query = '', headers: object = {}) =>
        (await call('GET', `export${query}`, undefined, headers)).body;
      const comparable = (body: JsonObject): JsonObject =>
        JSON.parse(JSON.stringify(body, (name, value) => (name === 'path' ? undefined : value))) as JsonObject;

      it('move to an empty instance: in clear with their secrets, masked without', async () => {
        expect((await importing({ version: 'v1', skills, config })).body).to.deep.equal({ imported: true });
        const admin = { 'x-admin-key': adminKey };
        const [masked, clear] = [await exported(), await exported('?reveal=true', admin)];
        expect(JSON.stringify(masked)).to.not.match(/abcdefgh|sk-abcdef123456|secret-abcdef/);

        await importing({ version: 'v1', skills: {}, config: { envs: {}, channels: {}, models: { providers: {} } } });
        expect((await importing(clear)).message).to.equal(undefined);
        expect(comparable(await exported('?reveal=true', admin))).to.deep.equal(comparable(clear));

        // Masks of the same instance keep what is stored.
        expect((await importing(masked)).status).to.equal(200);
        expect(comparable(await exported('?reveal=true', admin))).to.deep.equal(comparable(clear));

        await importing({ version: 'v1', skills: {}, config: { envs: {}, channels: {}, models: { providers: {} } } });
        expect((await importing(masked)).status).to.equal(200);
        const empty = await exported('?reveal=true', admin);
        expect(empty).to.have.nested.property('config.envs.A_TOKEN', '');
        expect(empty).to.have.nested.property('config.envs.B', '1');
        expect(empty).to.have.nested.property('config.channels.webhook.url', 'https://example.com/hook');
        expect(JSON.stringify(empty)).to.not.contain('***');
      });

      const job = (id: string, more: object = {}) => ({
        id,
        name: id,
        enabled: true,
        schedule: { type: 'cron', cron: '0 9 * * 1', timezone: 'Europe/Berlin' },
        text: 'Report.',
        dispatch: { target: { user_id: 'u1', session_id: 's1' } },
        ...more,
      });
      const jobs = async (): Promise<readonly string[]> => {
        const listed = (await (await host.fetch('/cron/jobs')).json()) as { id: string }[];
        return listed.map(({ id }) => id);
      };

      const names = async (): Promise<readonly string[]> => {
        const listed = (await (await host.fetch('/cron/jobs')).json()) as { name: string }[];
        return listed.map(({ name }) => name).toSorted();
      };

      it('give the same system in an empty instance, with jobs and prompt texts', async () => {
        const workflow = {
          version: 'v1',
          viewport: { pan_x: 0, pan_y: 0, zoom: 1 },
          nodes: [
            { id: 'start', type: 'start', x: 0, y: 0 },
            { id: 'say', type: 'text_event', x: 1, y: 0, text: 'hi' },
          ],
          edges: [{ id: 'e', source: 'start', target: 'say' }],
        };
        const cron = {
          jobs: [
            job('weekly', { paused: true }),
            job('flow', { text: undefined, task_type: 'workflow', workflow }),
            job('cron-default', { enabled: false, text: 'Ping.' }),
          ],
        };
        const files = { 'prompts/AGENTS.md': 'Be brief.\n', 'docs/AI/tools.md': '工具。', 'prompt/a/b.md': 'Nested.' };
        expect(await importing({ version: 'v1', skills, config, cron, files })).to.deep.include({ status: 200 });
        const admin = { 'x-admin-key': adminKey };
        const archive = await exported('?reveal=true', admin);
        expect(archive.files).to.deep.equal(files);
        await host.stop();
        if (engine.dialect === 'postgres') await engine.empty();

        const target = temporaryFolder('workspace-target');
        host = await open(target);
        expect(await jobs()).to.deep.equal(['cron-default']);
        expect((await importing(archive)).body).to.deep.equal({ imported: true });
        expect(comparable(await exported('?reveal=true', admin))).to.deep.equal(comparable(archive));
        expect(await jobs()).to.deep.equal(['cron-default', 'flow', 'weekly']);
        const state = (await (await host.fetch('/cron/jobs/weekly/state')).json()) as JsonObject;
        expect(state).to.include({ paused: true });
        expect(await readFile(join(target, 'prompt/a/b.md'), 'utf8')).to.equal('Nested.');
      });

      it('replace all jobs but the default one, and delete no text', async () => {
        await importing({ version: 'v1', cron: { jobs: [job('old')] }, files: { 'prompts/old.md': 'Old.' } });
        await importing({ version: 'v1', cron: { jobs: [job('new')] }, files: { 'prompts/new.md': 'New.' } });
        expect(await jobs()).to.deep.equal(['new', 'cron-default']);
        expect((await exported()).files).to.deep.equal({ 'prompts/old.md': 'Old.', 'prompts/new.md': 'New.' });
      });

      it('name the files that they leave out', async () => {
        await mkdir(join(folder, 'prompts'));
        await writeFile(join(folder, 'prompts', 'blank.md'), ' \n');
        await writeFile(join(folder, 'prompts', 'image.png'), Buffer.from([0xff, 0, 1]));
        const gbk = Buffer.from([0xd6, 0xd0, 0xce, 0xc4]);
        await writeFile(join(folder, 'prompts', 'gbk.md'), gbk);
        const archive = await exported();
        const omitted = ['prompts/blank.md', 'prompts/gbk.md', 'prompts/image.png'];
        expect(archive.files).to.deep.equal({});
        expect(archive.omitted_files).to.have.members(omitted);
        expect((await importing(archive)).status).to.equal(200);
        expect(await readFile(join(folder, 'prompts', 'gbk.md'))).to.deep.equal(gbk);
      });

      it('say at which place an archive is wrong', async () => {
        const wrong: readonly (readonly [unknown, string, RegExp])[] = [
          [{}, 'invalid_import_version', /payload has none: it is not an export/],
          [{ version: 'v1', jobs: [] }, 'invalid_json', /^payload has none of the sections skills, cron, files, /],
          [{ version: 'v1', config: { envs: { 'A B': '1' } } }, 'invalid_env_key', /^payload\.config\.envs: /],
          [{ version: 'v1', config: { channels: [] } }, 'invalid_json', /^payload\.config\.channels: /],
          [{ version: 'v1', config: { models: 3 } }, 'invalid_json', /^payload\.config\.models: it must be an object/],
          [{ version: 'v1', skills: { a: { content: '' } } }, 'invalid_skill', /^payload\.skills: /],
          [{ version: 'v1', cron: { jobs: {} } }, 'invalid_json', /^payload\.cron: jobs must be an array/],
          [
            { version: 'v1', cron: { jobs: [job('a'), job('b', { schedule: { cron: 'never' } })] } },
            'invalid_cron_schedule',
            /^payload\.cron: job "b": /,
          ],
          [
            { version: 'v1', cron: { jobs: [job('a'), job('a')] } },
            'invalid_request',
            /job "a": the id is given twice/,
          ],
          [{ version: 'v1', files: { '../x': 'y' } }, 'invalid_path', /^payload\.files: \.\.\/x is not/],
          [{ version: 'v1', files: { 'src/a.ts': 'y' } }, 'invalid_path', /^payload\.files: src\/a\.ts is not/],
          [{ version: 'v1', files: { 'prompts/a': 3 } }, 'invalid_ai_tools_guide', /content of prompts\/a is required/],
        ];
        for (const [payload, code, message] of wrong) {
          const answer = await importing(payload);
          expect(answer, JSON.stringify(payload)).to.deep.include({ status: 400, code });
          expect(answer.message).to.match(message);
        }
      });

      it('change nothing when a text cannot be written', async () => {
        await importing({ version: 'v1', config: { envs: { A: '1' } }, cron: { jobs: [job('old')] } });
        await writeFile(join(folder, 'prompts'), 'a file where a folder is needed');
        const refused = await importing({
          version: 'v1',
          config: { envs: { B: '2' } },
          cron: { jobs: [] },
          files: { 'prompts/a.md': 'x' },
        });
        expect(refused.code).to.equal('invalid_path');
        expect((await exported()).config)
          .to.have.nested.property('envs')
          .that.deep.equals({ A: '1' });
        expect(await jobs()).to.include('old');
      });

      it('give texts their old content back when the settings cannot be stored', async () => {
        await importing({ version: 'v1', files: { 'prompts/old.md': 'Old.' } });
        await probe.database.statement(
          probe.database.dialect === 'sqlite'
            ? `create trigger refuse before insert on {agent.envs} when new.key = 'REFUSED'
               begin select raise(abort, 'refused'); end`
            : `alter table {agent.envs} add constraint refuse check (key <> 'REFUSED')`,
        );
        const refused = await importing({
          version: 'v1',
          config: { envs: { REFUSED: '1' } },
          files: { 'prompts/old.md': 'New.', 'prompts/new/deep.md': 'New.' },
        });
        expect(refused.status).to.be.at.least(500);
        expect((await exported()).files).to.deep.equal({ 'prompts/old.md': 'Old.' });
        expect(await readdir(join(folder, 'prompts'))).to.deep.equal(['old.md']);
      });

      it('do not block the database while they write texts, and do not wait for changes of the assistant', async () => {
        const preview = async (index: number) => {
          const operations = [{ kind: 'replace', path: `prompts/own-${index}.md`, value: `Own ${index}.` }];
          const body = { target: 'workspace_file', operations };
          const answer = await host.post('/agent/self/config-mutations/preview', body);
          const { mutation_id, confirm_hash } = (await answer.json()) as JsonObject;
          return { mutation_id, confirm_hash };
        };
        const texts = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`prompts/${at}.md`, `Text ${at}.`]));
        const previews = await Promise.all([1, 2, 3, 4].map(preview));
        const answers = await Promise.all(
          previews.flatMap((body, index) => [
            importing({ version: 'v1', config: { envs: { A: String(index) } }, files: texts }),
            host.post('/agent/self/config-mutations/apply', body),
          ]),
        );
        expect(answers.map(({ status }) => status)).to.deep.equal(Array(8).fill(200));
      });

      it('keep what only looks like a mask outside of secrets', async () => {
        const webhook = { bot_prefix: '***', secret: 'abc***def', headers: { authorization: 'Bea***xyz' } };
        expect((await importing({ version: 'v1', config: { channels: { webhook } } })).status).to.equal(200);
        const shown = (await exported('?reveal=true', { 'x-admin-key': adminKey })).config;
        expect(shown).to.deep.nested.include({ 'channels.webhook.bot_prefix': '***', 'channels.webhook.secret': '' });
        expect(shown).to.deep.nested.include({ 'channels.webhook.headers': { authorization: '' } });
      });

      it('replace only the sections that are present', async () => {
        await importing({ version: 'v1', skills, config });
        expect((await importing({ version: 'v1', config: { envs: { C: '3' } } })).status).to.equal(200);
        const after = await exported();
        expect(after).to.have.nested.property('config.envs').that.deep.equals({ C: '3' });
        expect(after).to.have.nested.property('skills.greet');
        expect(after).to.have.nested.property('config.channels.webhook.enabled', true);
      });

      it('change nothing when any part is refused', async () => {
        await importing({ version: 'v1', skills, config });
        const before = await exported();
        const refusals: readonly (readonly [unknown, string])[] = [
          [{ version: 'v1', config: { ...config, envs: { 'A B': '1' } } }, 'invalid_env_key'],
          [{ version: 'v1', skills: { other: skills.greet }, config }, 'invalid_skill'],
          [{ version: 'v1', skills: { '..': { content: 'x' } } }, 'invalid_skill'],
          [{ version: 'v1', config: { envs: { X: '1' }, channels: { sms: {} } } }, 'channel_not_supported'],
          [
            { version: 'v1', config: { envs: { X: '1' }, models: { providers: { openai: { timeout_ms: -1 } } } } },
            'invalid_provider_config',
          ],
          [{ version: 'v1', config: { models: { active_llm: { model: 'x' } } } }, 'invalid_model_slot'],
          [{ version: 'v1', config: { channels: { webhook: {}, Webhook: {} } } }, 'invalid_channel_config'],
          [{ version: 'v2', config }, 'invalid_import_version'],
          [{ config }, 'invalid_import_version'],
          [[], 'invalid_json'],
          [{ version: 'v1', skills: [] }, 'invalid_json'],
        ];
        for (const [payload, code] of refusals) {
          expect(await importing(payload), code).to.deep.include({ status: 400, code });
          expect(await exported()).to.deep.equal(before);
        }
        expect(await importing({ version: 'v1' }, 'merge')).to.deep.include({
          status: 400,
          code: 'invalid_import_mode',
          message: 'mode must be replace',
        });
        expect((await call('POST', 'import', '{"mode":"replace","payload":{"version":"v1"')).code).to.equal(
          'invalid_json',
        );
      });

      it('are one of two imports at the same time, never a mixture', async () => {
        const other = { envs: { OTHER: '1' }, channels: { webhook: { enabled: false } } };
        const both = await Promise.all(
          ['a', 'b'].map((name) =>
            importing({ version: 'v1', cron: { jobs: [job(`${name}-1`), job('shared', { name }), job(`${name}-2`)] } }),
          ),
        );
        expect(both.map(({ status }) => status)).to.deep.equal([200, 200]);
        expect([
          ['a', 'a-1', 'a-2'],
          ['b', 'b-1', 'b-2'],
        ]).to.deep.include((await names()).filter((name) => name.length < 4));
        const results = await Promise.all([
          importing({ version: 'v1', config: { envs: config.envs, channels: config.channels } }),
          importing({ version: 'v1', config: other }),
        ]);
        expect(results.map(({ status }) => status)).to.deep.equal([200, 200]);
        const { envs, channels } = (await exported()).config as unknown as {
          envs: JsonObject;
          channels: { webhook: { enabled: boolean } };
        };
        expect('OTHER' in envs).to.equal(!channels.webhook.enabled);
      });
    });
  });
});

describe('a large workspace', () => {
  it('is exported with all its texts, except texts that an import would refuse, which are listed', async () => {
    const folder = temporaryFolder('workspace');
    const host = await createTestHost({ plugins: ['workspace'], env: { MORTISE_WORKSPACE_DIR: folder } });
    try {
      await mkdir(join(folder, 'prompts'));
      const write = (name: string, size: number) => writeFile(join(folder, 'prompts', name), 'x'.repeat(size));
      for (let at = 0; at < 5_010; at += 1) await write(`small-${at}.md`, 10);
      for (let at = 0; at < 29; at += 1) await write(`large-${at}.md`, 1_048_576);
      const text = await (await host.fetch('/workspace/export')).text();
      expect(text.length).to.be.below(32 * 1_048_576);
      const { files, omitted_files: omitted } = JSON.parse(text) as { files: JsonObject; omitted_files: string[] };
      expect(omitted.every((path) => path.startsWith('prompts/large-'))).to.equal(true);
      expect(Object.keys(files)).to.have.length(5_010 + 29 - omitted.length);
    } finally {
      await host.stop();
    }
  });
});
