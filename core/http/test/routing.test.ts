import { expect } from 'chai';
import { MortiseError } from '../../sdk/index.js';
import { ask, askRaw, route, type Served, serve, stopAll } from './serve.js';

const echo = (path: string, more = {}) =>
  route({ path, ...more }, (request) => ({
    body: { path: request.path, params: request.params, method: request.method },
  }));

describe('routing', () => {
  afterEach(stopAll);

  it('finds fixed paths, parameters and rest segments, the most specific first', async () => {
    const served = await serve([
      echo('/files/*rest'),
      echo('/chats/:chat_id'),
      echo('/chats/:chat_id/turns/:turn_id'),
      echo('/chats/latest'),
    ]);
    expect((await ask(served, '/chats/latest')).json.params).to.deep.equal({});
    expect((await ask(served, '/chats/c1')).json.params).to.deep.equal({ chat_id: 'c1' });
    expect((await ask(served, '/chats/c1/turns/t1')).json.params).to.deep.equal({ chat_id: 'c1', turn_id: 't1' });
    expect((await ask(served, '/files/a/b.txt')).json.params).to.deep.equal({ rest: 'a/b.txt' });
    expect((await ask(served, '/files/')).status).to.equal(404);
    expect((await ask(served, '/chats/')).status).to.equal(404);
    expect((await ask(served, '/Chats/c1')).status).to.equal(404);
    expect((await ask(served, '//chats/c1')).status).to.equal(404);
  });

  it('prefers the more specific of two patterns, regardless of their order', async () => {
    const served = await serve([
      echo('/:any/*rest'),
      echo('/files/*rest'),
      echo('/files/:name'),
      echo('/files/:name/info'),
      echo('/files/:folder/:name'),
    ]);
    expect((await ask(served, '/files/a')).json.params).to.deep.equal({ name: 'a' });
    expect((await ask(served, '/files/a/info')).json.params).to.deep.equal({ name: 'a' });
    expect((await ask(served, '/files/a/b')).json.params).to.deep.equal({ folder: 'a', name: 'b' });
    expect((await ask(served, '/files/a/b/c')).json.params).to.deep.equal({ rest: 'a/b/c' });
    expect((await ask(served, '/else/a')).json.params).to.deep.equal({ any: 'else', rest: 'a' });
  });

  it('decodes parameters once', async () => {
    const served = await serve([echo('/files/*rest'), echo('/chats/:id')]);
    expect((await ask(served, '/files/a%2Fb%20c')).json.params).to.deep.equal({ rest: 'a/b c' });
    expect((await ask(served, '/chats/%252e')).json.params).to.deep.equal({ id: '%2e' });
    expect((await ask(served, '/chats/%E4%BD%A0')).json.params).to.deep.equal({ id: '你' });
    expect((await ask(served, '/files/%2e%2e/x')).json.params).to.deep.equal({ rest: '../x' });
  });

  it('refuses malformed percent-escapes with the error of the mount', async () => {
    const served = await serve([echo('/chats/:id'), echo('/workspace/files/*rest', { mount: 'files' })]);
    for (const path of ['/chats/%zz', '/chats/%E4%BD', '/nowhere/%', '/chats/%c0%af']) {
      const answer = await ask(served, path);
      expect(answer.status, path).to.equal(400);
      expect(answer.json.error.code, path).to.equal('invalid_request');
    }
    const answer = await ask(served, '/workspace/files/%zz');
    expect(answer.status).to.equal(400);
    expect(answer.json.error).to.include({ code: 'invalid_path', message: 'invalid workspace file path' });
  });

  it('answers 405 with Allow for a known path, and 404 for an unknown one', async () => {
    const served = await serve([
      echo('/chats', { method: ['GET', 'POST'] }),
      echo('/chats/:chat_id', { method: 'DELETE' }),
      echo('/chats/:id', { method: 'PUT' }),
    ]);
    const wrong = await ask(served, '/chats', { method: 'DELETE' });
    expect(wrong.status).to.equal(405);
    expect(wrong.headers.allow).to.equal('GET, HEAD, OPTIONS, POST');
    expect(wrong.json.error).to.deep.equal({ code: 'method_not_allowed', message: 'method not allowed' });
    expect((await ask(served, '/chats/x')).headers.allow).to.equal('DELETE, OPTIONS, PUT');
    expect((await ask(served, '/chats/x', { method: 'PUT' })).json.params).to.deep.equal({ id: 'x' });
    expect((await ask(served, '/chats/x', { method: 'DELETE' })).json.params).to.deep.equal({ chat_id: 'x' });
    for (const path of ['/nowhere', '/.well-known/oauth-protected-resource', '/%5f%5fproto__', '/']) {
      const unknown = await ask(served, path, { headers: { accept: 'text/html' } });
      expect(unknown.status, path).to.equal(404);
      expect(unknown.headers['content-type'], path).to.equal('application/json');
      expect(unknown.json, path).to.deep.equal({ error: { code: 'not_found', message: 'route not found' } });
    }
  });

  it('answers with Allow when a route refuses its method for one of its paths', async () => {
    const refuses = route({ path: '/files/*path', method: 'DELETE' }, () => {
      throw new MortiseError('method_not_allowed', 'this file cannot be deleted', { status: 405 });
    });
    const served = await serve([refuses, echo('/files/*path', { method: ['GET', 'PUT'] }), echo('/files/:name')]);
    const answer = await ask(served, '/files/a', { method: 'DELETE' });
    expect([answer.status, answer.headers.allow]).to.deep.equal([405, 'GET, HEAD, OPTIONS, PUT']);
  });

  it('lets a less specific path serve methods that a fixed one does not have', async () => {
    const served = await serve([echo('/chats/batch', { method: 'POST' }), echo('/chats/:id')]);
    expect((await ask(served, '/chats/batch')).json.params).to.deep.equal({ id: 'batch' });
  });

  describe('with a catch-all', () => {
    const of = (plugin: string, mounted: ReturnType<typeof echo>) => ({ ...mounted, plugin });
    const methods = { method: ['GET', 'POST'] };
    const admin = ['/admin/plugins/:key', '/admin/config', '/healthz'].map((path) => of('admin', echo(path)));
    const statusOf = async (served: Served, path: string, method = 'GET') =>
      (await ask(served, path, { method })).status;

    for (const catchAll of ['/*rest', '/:any', '/:any/*rest'])
      it(`keeps the platform's answers at paths of other plugins: ${catchAll}`, async () => {
        const off = { ...of('off', echo('/off/:id')), enabled: false };
        const served = await serve([...admin, off, of('greedy', echo(catchAll, methods))]);
        for (const path of ['/admin', '/admin/', '/admin/nowhere', '/admin/plugins', '/admin/plugins/a/b'])
          expect(await statusOf(served, path), path).to.equal(404);
        for (const path of ['/admin/config', '/healthz', '/admin/plugins/a'])
          expect(await statusOf(served, path, 'POST'), path).to.equal(405);
        for (const path of ['/rpc', '/rpc/x', '/v1/messages', '/.well-known/oauth-protected-resource', '/off/a/b'])
          expect(await statusOf(served, path), path).to.equal(404);
        expect((await ask(served, '/off/a')).json.error.hint).to.equal('plugin off is disabled');
        expect((await ask(served, '/v1/messages')).json.type).to.equal('error');
        const own = catchAll === '/:any' ? '/else' : '/else/where';
        expect([await statusOf(served, own), await statusOf(served, own, 'POST')]).to.deep.equal([200, 200]);
        expect(await statusOf(served, own, 'DELETE')).to.equal(405);
      });

    it('keeps these answers below a first segment that the catch-all shares', async () => {
      const served = await serve([
        ...admin,
        of('greedy', echo('/admin/*rest')),
        of('deep', echo('/admin/extra/*rest')),
      ]);
      expect(await statusOf(served, '/admin/nowhere')).to.equal(404);
      expect(await statusOf(served, '/admin/extra/a')).to.equal(200);
    });

    it('lets it match below paths of its plugin, below a mount that it names, and for other methods', async () => {
      const served = await serve([
        of('one', echo('/files/latest')),
        of('one', echo('/files/*rest')),
        of('other', echo('/files/*rest', { method: 'POST' })),
        of('mine', echo('/mine/:id')),
        of('mine', echo('/*rest', { mount: 'typed' })),
      ]);
      expect(await statusOf(served, '/files/a')).to.equal(200);
      expect(await statusOf(served, '/mine/a/b')).to.equal(200);
      expect(await statusOf(served, '/v1/models')).to.equal(200);
      expect(await statusOf(served, '/rpc/x')).to.equal(404);
    });
  });

  it('serves HEAD for every GET route, with the same headers and no body', async () => {
    const served = await serve([echo('/chats'), echo('/only-post', { method: 'POST' })]);
    const get = await ask(served, '/chats');
    const head = await ask(served, '/chats', { method: 'HEAD' });
    expect(head.status).to.equal(200);
    expect(head.text).to.equal('');
    expect(Number(head.headers['content-length'])).to.equal(get.text.length);
    expect((await ask(served, '/only-post', { method: 'HEAD' })).status).to.equal(405);
  });

  it('accepts targets in absolute form, and checks their host', async () => {
    const served = await serve([echo('/chats')]);
    expect((await ask(served, 'http://localhost/chats?x=1')).json.path).to.equal('/chats');
    expect((await ask(served, 'http://evil.example/chats')).status).to.equal(403);
    expect(await askRaw(served, 'GET * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).to.match(/ 400 /);
  });

  it('refuses requests to a disabled plugin in the envelope of its mount, except for the 404 itself', async () => {
    const off = { ...echo('/rpc', { mount: 'rpc', method: 'POST' }), plugin: 'off', enabled: false };
    const served = await serve([off]);
    const foreign = await ask(served, '/rpc', { method: 'POST', headers: { host: 'evil.example' } });
    expect(foreign.json).to.include({ ok: false, reason: 'HOST_NOT_ALLOWED' });
    expect((await ask(served, '/rpc/nowhere')).json).to.include({ ok: false, reason: 'NOT_FOUND' });
    const disabled = await ask(served, '/rpc', { method: 'POST' });
    expect(disabled.json.error).to.include({ code: 'not_found', hint: 'plugin off is disabled' });
    for (const { headers } of [foreign, disabled]) expect(headers['access-control-allow-origin']).to.equal('*');
  });

  it('replaces the routing table in one step, and answers the routes of a disabled plugin with a hint', async () => {
    const served = await serve([echo('/chats')]);
    expect((await ask(served, '/chats')).status).to.equal(200);
    served.server.mount([{ ...echo('/chats'), plugin: 'sessions', enabled: false }]);
    const disabled = await ask(served, '/chats');
    expect(disabled.status).to.equal(404);
    expect(disabled.json.error).to.deep.equal({
      code: 'not_found',
      message: 'route not found',
      hint: 'plugin sessions is disabled',
    });
    expect((await ask(served, '/chats', { method: 'POST' })).json.error.hint).to.equal('plugin sessions is disabled');
    served.server.mount([{ ...echo('/chats'), plugin: 'sessions', enabled: false }, echo('/chats')]);
    expect((await ask(served, '/chats')).status).to.equal(200);
    const { invoke: _, ...stopped } = echo('/chats');
    served.server.mount([stopped]);
    expect((await ask(served, '/chats')).json.error.code).to.equal('plugin_unavailable');
  });
});
