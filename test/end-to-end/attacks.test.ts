import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { JsonObject } from 'mortise/sdk';
import { createTestHost, seededRandom, type TestHost, temporaryFolder } from 'mortise/sdk/testing';

const plugins = [
  'admin',
  'agent',
  'channel-console',
  'channel-qq',
  'channel-webhook',
  'channels',
  'cron',
  'cron-node-http-request',
  'cron-nodes',
  'envs',
  'models',
  'prompts',
  'provider-anthropic',
  'provider-demo',
  'provider-openai',
  'self-ops',
  'skills',
  'tool-files',
  'tool-web-search',
  'workspace',
];

describe('attacks on stored data (M10)', function () {
  this.timeout(120_000);
  const folder = temporaryFolder('attacks');
  const [workspace, outside] = [join(folder, 'workspace'), join(folder, 'outside')];
  const treasure = 'treasure-9f3b1c';
  let host: TestHost;

  before(async () => {
    await mkdir(join(workspace, 'sub'), { recursive: true });
    await mkdir(outside);
    await writeFile(join(outside, 'secret.txt'), treasure);
    await writeFile(join(workspace, 'mine.txt'), 'mine');
    await symlink(outside, join(workspace, 'folder'));
    await symlink(join(outside, 'secret.txt'), join(workspace, 'file'));
    host = await createTestHost({
      plugins,
      env: { MORTISE_WORKSPACE_DIR: workspace, MORTISE_ENABLE_PROMPT_CONTEXT_INTROSPECT: 'true' },
    });
  });
  after(() => host.stop());

  const send = async (method: string, path: string, body?: unknown): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    const response = await host.fetch(
      path,
      body === undefined ? { method } : { method, headers, body: JSON.stringify(body) },
    );
    return response.text();
  };
  /** Sends the path unchanged; `fetch` would normalize it. */
  const rawSend = (method: string, path: string, body: string) =>
    new Promise<string>((done, fail) => {
      const { hostname, port } = new URL(host.origin);
      const headers = { 'content-type': 'application/json' };
      request({ hostname, port, path, method, headers }, (response) => text(response).then(done, fail))
        .on('error', fail)
        .end(body);
    });

  it('read, change and create no file outside the workspace with 1,000 paths', async () => {
    const random = seededRandom(20);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const starts = [
      '',
      '/',
      './',
      '//',
      '~/',
      'file://',
      'sub/',
      `${workspace}/`,
      `${workspace}/sub/`,
      '\\',
      'folder/',
      'prompts/',
      'docs/AI/',
    ];
    const steps = [
      '../',
      '..//',
      '.././',
      '%2e%2e/',
      '%2e%2e%2f',
      '..%2f',
      '..\\',
      '．．/',
      '..;/',
      '....//',
      '..\u0000/',
      'sub/../',
      './',
    ];
    const ends = [
      'outside/secret.txt',
      'secret.txt',
      'file',
      'folder/secret.txt',
      'outside/new.txt',
      `${outside}/secret.txt`,
      'etc/passwd',
    ];
    const attacks = Array.from({ length: 1_000 }, () => {
      const climb = Array.from({ length: Math.floor(random() * 5) }, () => pick(steps)).join('');
      return `${pick(starts)}${climb}${pick(ends)}`;
    });
    const named = { session_id: 'attack', user_id: 'mallory', channel: 'console' };
    const tool = (call: object) => send('POST', '/agent/process', { ...named, ...call });
    const below = (path: string) => `/workspace/files/${encodeURI(path).replaceAll('%25', '%')}`;
    const ways: readonly ((path: string) => Promise<string>)[] = [
      (path) => tool({ view: [{ path, start: 1, end: 9 }] }),
      (path) => tool({ edit: [{ path, start: 1, end: 1, content: 'taken' }] }),
      (path) => tool({ find: [{ path, pattern: 'treasure' }] }),
      (path) =>
        tool({
          biz_params: { prompt_mode: 'claude', tool: { name: 'Write', input: { file_path: path, content: 'taken' } } },
        }),
      (path) => tool({ biz_params: { prompt_mode: 'claude', tool: { name: 'Read', input: { file_path: path } } } }),
      (path) =>
        tool({ biz_params: { prompt_mode: 'claude', tool: { name: 'Grep', input: { pattern: 'treasure', path } } } }),
      (path) => rawSend('GET', below(path), ''),
      (path) => rawSend('PUT', below(path), '{"content":"taken"}'),
      (path) => rawSend('DELETE', below(path), ''),
    ];
    for (const [index, path] of attacks.entries()) {
      const answer = await (ways[index % ways.length] as (typeof ways)[number])(path);
      expect(answer.replaceAll('"pattern":"treasure"', ''), `${index % ways.length} ${path}`).not.to.match(
        /treasure-|root:/,
      );
    }
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).to.equal(treasure);
    expect(await readdir(outside)).to.deep.equal(['secret.txt']);
    expect((await readdir(folder)).sort()).to.deep.equal(['outside', 'workspace']);
  });

  it('find none of 200 secrets in answers, previews, exports or logs', async () => {
    const canary = (index: number) => `canary${index}x${(index * 7_919).toString(36)}q8Zk2`;
    const secrets = Array.from({ length: 200 }, (_, index) => canary(index));
    const [envs, headers] = [secrets.slice(0, 80), secrets.slice(80, 160)];
    const rest = secrets.slice(160).values();
    const next = (): string => rest.next().value ?? '';
    await send('PUT', '/envs', Object.fromEntries(envs.map((secret, index) => [`V${index}_TOKEN`, secret])));
    const node = (index: number) => ({
      id: `n${index}`,
      type: 'http_request',
      url: `https://partner.example/v1?api_key=${next()}`,
      headers: Object.fromEntries(
        headers.slice(index * 8, index * 8 + 8).map((secret, at) => [`x-${at}-token`, secret]),
      ),
    });
    const nodes = Array.from({ length: 10 }, (_, index) => node(index));
    const edges = nodes.map(({ id }, index) => ({
      id: `e${index}`,
      source: index === 0 ? 's' : `n${index - 1}`,
      target: id,
    }));
    const job = {
      id: 'partner',
      name: 'Partner',
      enabled: false,
      schedule: { type: 'interval', cron: '1h' },
      task_type: 'workflow',
      workflow: { version: 'v1', nodes: [{ id: 's', type: 'start' }, ...nodes], edges },
      dispatch: { channel: 'console', target: { user_id: 'u', session_id: 's' } },
    };
    const writes: readonly (readonly [method: string, path: string, body: JsonObject])[] = [
      ['POST', '/cron/jobs', job],
      ['PUT', '/config/channels/qq', { enabled: false, app_id: '1', client_secret: next() }],
      [
        'PUT',
        '/config/channels/webhook',
        { enabled: false, url: 'https://hook.example/', headers: { authorization: next(), 'x-api-key': next() } },
      ],
      ['PUT', '/models/openai/config', { api_key: next(), headers: { 'x-partner-token': next() } }],
      ['PUT', '/models/anthropic/config', { api_key: next(), headers: { authorization: next() } }],
      ['PUT', '/admin/plugins/tool-web-search/config', { tavily_key: next() }],
    ];
    let seen = '';
    for (const [method, path, body] of writes) {
      const answer = await send(method, path, body);
      expect(answer, path).not.to.contain('"error"');
      seen += answer;
    }
    const operations = [{ kind: 'replace', path: 'config/envs.json', value: { V0_TOKEN: next(), B: '1' } }];
    seen += await send('POST', '/agent/self/config-mutations/preview', {
      target: 'workspace_file',
      operations,
      allow_sensitive: true,
    });
    const reads = [
      ...[
        '/envs',
        '/models',
        '/config/channels',
        '/config/channels/qq',
        '/config/channels/webhook',
        '/cron/jobs',
        '/cron/jobs/partner',
      ],
      ...[
        '/workspace/export',
        '/workspace/files',
        '/workspace/files/config/envs.json',
        '/workspace/files/config/models.json',
      ],
      ...[
        '/workspace/files/config/channels.json',
        '/admin/config',
        '/admin/plugins',
        '/agent/system-layers',
        '/skills',
        '/chats',
      ],
    ];
    for (const path of reads) seen += await send('GET', path);
    seen += await send('POST', '/cron/jobs/partner/run');
    seen += await send('GET', '/cron/jobs/partner/runs');
    seen += await send('GET', '/cron/jobs/partner/state');
    expect(seen).to.contain('V79_TOKEN').and.contain('partner.example');
    for (const [index, secret] of secrets.entries()) {
      expect(seen.includes(secret), `secret ${index} in an answer`).to.equal(false);
      expect(
        host.logs.some((line) => line.includes(secret)),
        `secret ${index} in a log line`,
      ).to.equal(false);
    }
  });
});
