import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ask, askRaw, route, type Served, serve, stopAll } from './serve.js';

describe('static folders', () => {
  let root: string;
  let served: Served;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'static-'));
    const web = join(root, 'web');
    await mkdir(join(web, 'assets'), { recursive: true });
    await mkdir(join(web, '.git'));
    await mkdir(join(root, 'web-secret'));
    await writeFile(join(root, 'secret.txt'), 'canary');
    await writeFile(join(root, 'web-secret', 'x.txt'), 'canary');
    await writeFile(join(web, 'index.html'), '<p>home</p>');
    await writeFile(join(web, '.env'), 'canary');
    await writeFile(join(web, '.git', 'config'), 'canary');
    await writeFile(join(web, 'assets', 'app.js'), 'run()');
    await writeFile(join(web, 'assets', 'big.bin'), Buffer.alloc(700_000, 7));
    await writeFile(join(web, 'a b.txt'), 'blank');
    await symlink(join(root, 'secret.txt'), join(web, 'link.txt'));
    await symlink(root, join(web, 'up'));
    await symlink(join(root, 'web-secret'), join(web, 'sibling'));
    await symlink(join(web, 'assets', 'app.js'), join(web, 'inside.js'));
    await utimes(join(web, 'assets', 'app.js'), 1_700_000_000, 1_700_000_000);
  });
  after(() => rm(root, { recursive: true }));

  beforeEach(async () => {
    served = await serve([
      route({ path: '/', kind: 'static' }, { folder: join(root, 'web'), fallback: 'index.html', maxAge: 60 }),
      route({ path: '/chats/:id' }, () => ({ body: {} })),
      route({ path: '/rpc', method: 'POST', mount: 'rpc' }, () => ({ body: {} })),
    ]);
  });
  afterEach(stopAll);

  const html = { accept: 'text/html,application/xhtml+xml' };

  it('serves files with type, age and tag', async () => {
    const page = await ask(served, '/');
    expect([page.status, page.text]).to.deep.equal([200, '<p>home</p>']);
    expect(page.headers).to.include({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
    });
    const script = await ask(served, '/assets/app.js?v=1');
    expect(script.text).to.equal('run()');
    expect(script.headers).to.include({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=60',
      'last-modified': 'Tue, 14 Nov 2023 22:13:20 GMT',
    });
    expect((await ask(served, '/a%20b.txt')).text).to.equal('blank');
    expect((await ask(served, '/inside.js')).text).to.equal('run()');
    const big = await ask(served, '/assets/big.bin');
    expect([big.headers['content-length'], big.text.length]).to.deep.equal(['700000', 700_000]);
  });

  it('answers 304 to a client that has the current file', async () => {
    const { headers } = await ask(served, '/assets/app.js');
    const status = async (sent: Record<string, string>) =>
      (await ask(served, '/assets/app.js', { headers: sent })).status;
    expect(await status({ 'if-none-match': String(headers.etag) })).to.equal(304);
    expect(await status({ 'if-none-match': `"other", ${headers.etag}` })).to.equal(304);
    expect(
      await status({ 'if-none-match': '"other"', 'if-modified-since': String(headers['last-modified']) }),
    ).to.equal(200);
    expect(await status({ 'if-modified-since': String(headers['last-modified']) })).to.equal(304);
    expect(await status({ 'if-modified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' })).to.equal(200);
    const fresh = await ask(served, '/assets/app.js', { headers: { 'if-none-match': String(headers.etag) } });
    expect(fresh.text).to.equal('');
  });

  it('serves GET and HEAD only', async () => {
    const head = await ask(served, '/assets/big.bin', { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.text]).to.deep.equal([200, '700000', '']);
    expect((await ask(served, '/assets/app.js', { method: 'HEAD' })).headers['content-length']).to.equal('5');
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect((await ask(served, '/assets/app.js', { method })).status, method).to.equal(404);
    }
  });

  it('serves the fallback for unknown pages, but never on the paths of an API', async () => {
    expect((await ask(served, '/settings/models', { headers: html })).text).to.equal('<p>home</p>');
    for (const [path, headers] of [
      ['/settings/models', {}],
      ['/settings/models', { accept: '*/*' }],
      ['/chats/a/b', html],
      ['/rpc/x', html],
      ['/.well-known/oauth-protected-resource', html],
      ['/v1/nowhere', html],
    ] as const) {
      const answer = await ask(served, path, { headers });
      expect(answer.status, path).to.equal(404);
      expect(answer.headers['content-type'], path).to.equal('application/json');
    }
  });

  it('serves no file that is outside the folder, hidden, or behind a link that leads outside', async () => {
    const attempts = [
      '/../secret.txt',
      '/assets/../../secret.txt',
      '/%2e%2e/secret.txt',
      '/%2e%2e%2fsecret.txt',
      '/..%2fsecret.txt',
      '/assets/%2e%2e/%2e%2e/secret.txt',
      '/..\\secret.txt',
      '/..%5csecret.txt',
      '/%252e%252e/secret.txt',
      '/....//secret.txt',
      '/./../secret.txt',
      '//secret.txt',
      '/secret.txt%00.html',
      '/.env',
      '/.git/config',
      '/%2eenv',
      '/assets/../.env',
      '/link.txt',
      '/up/secret.txt',
      '/sibling/x.txt',
      '/../web-secret/x.txt',
      '/C:/secret.txt',
      '/..;/secret.txt',
      `/${'a/'.repeat(2000)}x`,
      `/${'a'.repeat(5000)}`,
    ];
    for (const path of attempts) {
      const received = await askRaw(served, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      expect(received, path).to.match(/^HTTP\/1.1 40[04] /);
      expect(received, path).not.to.include('canary');
    }
    expect((await ask(served, '/%zz')).status).to.equal(400);
  });

  it('answers 404 when the folder does not exist', async () => {
    served.server.mount([
      route({ path: '/', kind: 'static' }, { folder: join(root, 'nowhere'), fallback: 'index.html' }),
    ]);
    const answer = await ask(served, '/', { headers: html });
    expect([answer.status, answer.json.error.code]).to.deep.equal([404, 'not_found']);
  });

  it('hints at a disabled console only at the path of its page', async () => {
    const disabled = route({ path: '/', kind: 'static' }, { folder: root }, { enabled: false, plugin: 'console' });
    served.server.mount([disabled]);
    expect((await ask(served, '/', { headers: html })).json.error.hint).to.equal('plugin console is disabled');
    expect((await ask(served, '/nowhere')).json.error).to.not.have.property('hint');
  });
});
