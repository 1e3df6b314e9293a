import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { expect } from 'chai';
import { WebSocketServer } from 'ws';
import { type GuardedFetch, MortiseError } from '../../sdk/index.js';
import { createFetchGuard, type FetchGuard, type FetchGuardOptions } from '../index.js';

describe('guarded fetch', () => {
  const guards: FetchGuard[] = [];
  let server: Server;
  let port: number;
  let seen: { url: string; method: string; headers: IncomingMessage['headers']; body: string }[];

  const guard = (patterns: readonly string[], options: FetchGuardOptions = {}): GuardedFetch => {
    const made = createFetchGuard(options);
    guards.push(made);
    return made.forHosts(patterns);
  };

  const refusal = async (work: Promise<unknown>): Promise<MortiseError> => {
    try {
      await work;
    } catch (error) {
      if (error instanceof MortiseError) return error;
      throw error;
    }
    throw new Error('the request was not refused');
  };

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
    if (pathname === '/redirect') {
      response.writeHead(Number(searchParams.get('status') ?? 302), { location: searchParams.get('to') ?? '' }).end();
    } else if (pathname === '/silent') {
      if (searchParams.has('head')) response.write('a piece');
    } else if (pathname === '/loop') {
      response.writeHead(302, { location: '/loop' }).end();
    } else {
      response.end('hello');
    }
  };

  before((done) => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        seen.push({ url: request.url ?? '', method: request.method ?? '', headers: request.headers, body });
        answer(request, response);
      });
    });
    server.listen(0, '127.0.0.1', () => {
      port = (server.address() as AddressInfo).port;
      done();
    });
  });
  beforeEach(() => {
    seen = [];
  });
  afterEach(() => Promise.all(guards.splice(0).map((one) => one.close())));

  it('ends a response that does not begin, or that stalls, at the limits of the request', async () => {
    const fetch = guard(['127.0.0.1']);
    const codeOf = (error: { cause?: { code?: string } }) => error.cause?.code;
    expect(await fetch(`http://127.0.0.1:${port}/silent`, { headMs: 1 }).catch(codeOf)).to.equal(
      'UND_ERR_HEADERS_TIMEOUT',
    );
    const begun = await fetch(`http://127.0.0.1:${port}/silent?head`, { headMs: 0, idleMs: 1 });
    expect(await begun.text().catch(codeOf)).to.equal('UND_ERR_BODY_TIMEOUT');
  });
  after((done) => {
    server.close(done);
    server.closeAllConnections();
  });

  it('reaches the hosts of the manifest and no others', async () => {
    const fetch = guard(['127.0.0.1', 'api.example.com', '*.example.org']);
    const response = await fetch(`http://127.0.0.1:${port}/`);
    expect(await response.text()).to.equal('hello');
    for (const url of [
      `http://localhost:${port}/`,
      'https://example.com/',
      'https://example.org/',
      'https://notexample.org/',
      'https://api.example.com.evil.test/',
      'ftp://127.0.0.1/',
      'file:///etc/passwd',
    ]) {
      const error = await refusal(fetch(url));
      expect(error.code, url).to.equal('network_denied');
      expect(error.status, url).to.equal(403);
    }
  });

  it('names only the host of the address in a refusal', async () => {
    const error = await refusal(guard([])('https://user.test/path?token=canary'));
    expect(error.details).to.deep.equal({ host: 'user.test' });
    expect(`${error.message} ${error.hint}`).not.to.include('canary');
  });

  it('refuses private addresses in every spelling in untrusted requests', async () => {
    const fetch = guard(['*']);
    for (const host of [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '0.0.0.0',
      '10.1.2.3',
      '172.16.0.1',
      '192.168.1.1',
      '100.100.100.200',
      '169.254.169.254',
      '224.0.0.1',
      '255.255.255.255',
      '192.0.2.1',
      '[::]',
      '[::1]',
      '[fe80::1]',
      '[fc00::1]',
      '[fd00:ec2::254]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '[ff02::1]',
    ]) {
      const error = await refusal(fetch(`http://${host}:${port}/`, { untrusted: true }));
      expect(error.code, host).to.equal('network_denied');
    }
    expect(seen).to.have.length(0);
  });

  it('refuses names that resolve to a private address, even along with a public one', async () => {
    const resolve = async (name: string) =>
      name === 'mixed.test'
        ? [
            { address: '93.184.216.34', family: 4 },
            { address: '127.0.0.1', family: 4 },
          ]
        : [{ address: '127.0.0.1', family: 4 }];
    const fetch = guard(['*'], { resolve });
    for (const name of ['rebind.test', 'mixed.test', 'localhost', 'LOCALHOST.']) {
      const error = await refusal(fetch(`http://${name}:${port}/`, { untrusted: true }));
      expect(error.code, name).to.equal('network_denied');
    }
    expect(seen).to.have.length(0);
  });

  it('connects to the checked addresses, not to those of a second lookup', async () => {
    let lookups = 0;
    const resolve = async () => {
      lookups += 1;
      // The first address does not answer: the request ends by its signal, or earlier.
      return [{ address: lookups === 1 ? '203.0.114.1' : '127.0.0.1', family: 4 }];
    };
    const fetch = guard(['*'], { resolve });
    const signal = AbortSignal.timeout(300);
    let failed: unknown;
    try {
      await fetch(`http://flip.test:${port}/`, { untrusted: true, signal });
    } catch (error) {
      failed = error;
    }
    expect(failed).to.be.instanceOf(Error);
    expect(lookups).to.equal(1);
    expect(seen).to.have.length(0);
  });

  it('refuses link-local addresses and metadata services, but no private ones, if a request excludes link-local ones', async () => {
    const names: Record<string, string> = {
      'metadata.example': '169.254.169.254',
      'v6.example': 'fe80::1',
      'alibaba.example': '100.100.100.200',
      'aws6.example': 'fd00:ec2::254',
      'local.example': '127.0.0.1',
    };
    const resolve = async (name: string) => {
      const address = names[name] ?? '';
      return [{ address, family: address.includes(':') ? 6 : 4 }];
    };
    const fetch = guard(['*'], { resolve, allowPrivate: true });
    const options = { linkLocal: 'refused' } as const;
    for (const host of [
      ...Object.keys(names).filter((name) => name !== 'local.example'),
      '169.254.1.1',
      '[fe80::1]',
      '[::ffff:a9fe:a9fe]',
      '[64:ff9b::a9fe:a9fe]',
      '168.63.129.16',
    ]) {
      expect((await refusal(fetch(`http://${host}:${port}/`, options))).code, host).to.equal('network_denied');
    }
    for (const host of ['local.example', '127.0.0.1']) {
      expect((await fetch(`http://${host}:${port}/`, options)).status, host).to.equal(200);
    }
  });

  it('reports before a request that its address would be refused', async () => {
    const fetch = guard(['*.example', '169.254.169.254', '127.0.0.1']);
    const options = { linkLocal: 'refused' } as const;
    for (const url of ['http://169.254.169.254/', 'https://api.other/', 'ftp://api.example/']) {
      expect((await refusal(fetch.check(new URL(url), options))).code, url).to.equal('network_denied');
    }
    for (const url of ['https://api.example/', 'http://127.0.0.1:1/']) await fetch.check(new URL(url), options);
    expect(seen).to.deep.equal([]);
  });

  it('lets trusted requests reach private addresses, and all requests if an admin allows it', async () => {
    expect((await guard(['*'])(`http://127.0.0.1:${port}/`)).status).to.equal(200);
    const lenient = guard(['*'], { allowPrivate: true });
    expect((await lenient(`http://localhost:${port}/`, { untrusted: true })).status).to.equal(200);
  });

  it('lookups at every redirect', async () => {
    const fetch = guard(['127.0.0.1']);
    const to = encodeURIComponent(`http://localhost:${port}/secret`);
    const error = await refusal(fetch(`http://127.0.0.1:${port}/redirect?to=${to}`));
    expect(error.details).to.deep.equal({ host: 'localhost' });
    expect(seen.map((one) => one.url)).to.not.include('/secret');
    const followed = await fetch(`http://127.0.0.1:${port}/redirect?to=%2Fhere`);
    expect(await followed.text()).to.equal('hello');
    expect(seen.at(-1)?.url).to.equal('/here');
    expect((await refusal(fetch(`http://127.0.0.1:${port}/loop`))).message).to.include('redirects too often');
    const manual = await fetch(`http://127.0.0.1:${port}/redirect?to=%2Fhere`, { redirect: 'manual' });
    expect(manual.status).to.equal(302);
  });

  it('turns a redirected POST into a GET only if the standard requires it', async () => {
    const fetch = guard(['127.0.0.1']);
    const post = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    await fetch(`http://127.0.0.1:${port}/redirect?status=303&to=%2Fa`, post);
    expect(seen.at(-1)).to.include({ method: 'GET', body: '' });
    expect(seen.at(-1)?.headers).not.to.have.property('content-type');
    await fetch(`http://127.0.0.1:${port}/redirect?status=307&to=%2Fb`, post);
    expect(seen.at(-1)).to.include({ method: 'POST', body: '{}' });
  });

  it('sends forms with their content', async () => {
    const form = new FormData();
    form.set('name', 'value');
    await guard(['*'])(`http://127.0.0.1:${port}/`, { method: 'POST', body: form });
    expect(seen.at(-1)?.headers['content-type']).to.match(/^multipart\/form-data; boundary=/);
    expect(seen.at(-1)?.body).to.include('name="name"').and.to.include('value');
  });

  it('does not send credentials to another origin', async () => {
    const fetch = guard(['*']);
    const to = encodeURIComponent(`http://localhost:${port}/other`);
    const headers = { authorization: 'Bearer canary', 'x-api-key': 'canary', 'x-kept': '1' };
    await fetch(`http://127.0.0.1:${port}/redirect?to=${to}`, { headers });
    expect(seen.at(-1)?.headers).to.include({ 'x-kept': '1' });
    expect(JSON.stringify(seen.at(-1)?.headers)).not.to.include('canary');
    await fetch(`http://127.0.0.1:${port}/redirect?to=%2Fsame`, { headers });
    expect(seen.at(-1)?.headers.authorization).to.equal('Bearer canary');
  });

  describe('of a WebSocket', () => {
    const ends = () => {
      const seenFrames: string[] = [];
      const controller = new AbortController();
      let closed: (code: number) => void = () => undefined;
      const closing = new Promise<number>((resolve) => {
        closed = resolve;
      });
      const exchange = {
        signal: controller.signal,
        message: (frame: string) => void seenFrames.push(frame),
        close: (code: number) => closed(code),
      };
      return { seenFrames, controller, closing, exchange };
    };
    let sockets: WebSocketServer;
    let address: string;

    before((done) => {
      sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => {
        address = `ws://127.0.0.1:${(sockets.address() as AddressInfo).port}/`;
        done();
      });
      sockets.on('connection', (socket) => {
        socket.send('hello');
        socket.on('message', (data) => {
          const text = data.toString();
          if (text === 'bye') socket.close(4_001);
          else socket.send(text === 'long' ? 'x'.repeat(2_000) : `echo ${text}`);
        });
      });
    });
    after((done) => {
      for (const client of sockets.clients) client.terminate();
      sockets.close(done);
    });

    it('passes on text messages in order, including the first one of the server, and reports the close code', async () => {
      const { seenFrames, closing, exchange } = ends();
      const socket = await guard(['127.0.0.1']).socket(address, exchange);
      for (const text of ['a', 'b', 'bye']) socket.send(text);
      expect(await closing).to.equal(4_001);
      expect(seenFrames).to.deep.equal(['hello', 'echo a', 'echo b']);
    });

    it('closes the connection on a message that is too large, and with its signal', async () => {
      const large = ends();
      const socket = await guard(['*']).socket(address, { ...large.exchange, maxFrameBytes: 1_000 });
      socket.send('long');
      expect(await large.closing).to.be.a('number');
      expect(large.seenFrames).to.deep.equal(['hello']);
      const aborted = ends();
      await guard(['*']).socket(address, aborted.exchange);
      aborted.controller.abort(new Error('enough'));
      expect(await aborted.closing).to.equal(1_006);
    });

    it('applies the rules of requests, and reports a server that does not answer', async () => {
      const { exchange } = ends();
      const to = (url: string, options: object = {}, hosts = ['*']) =>
        guard(hosts).socket(url, { ...exchange, ...options });
      expect((await refusal(to(address, {}, ['example.com']))).code).to.equal('network_denied');
      expect((await refusal(to(address, { untrusted: true }))).code).to.equal('network_denied');
      expect((await refusal(to('http://127.0.0.1/'))).message).to.contain('only ws and wss');
      expect((await refusal(to('ws://169.254.169.254/', { linkLocal: 'refused' }))).code).to.equal('network_denied');
      const inside = createFetchGuard({ resolve: async () => [{ address: '10.0.0.1', family: 4 }] });
      guards.push(inside);
      const named = inside.forHosts(['*']).socket('ws://gateway.example/', { ...exchange, untrusted: true });
      expect((await refusal(named)).code).to.equal('network_denied');
      const silent = createNetServer(() => undefined);
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      const { port: silentPort } = silent.address() as AddressInfo;
      const outcome = await to(`ws://127.0.0.1:${silentPort}/`, { openMs: 50 }).catch((error: Error) => error.message);
      expect(outcome).to.contain('timed out');
      silent.close();
    });
  });

  it('ends with the caller’s signal', async () => {
    const fetch = guard(['*']);
    const controller = new AbortController();
    controller.abort(new Error('enough'));
    let failed: unknown;
    try {
      await fetch(`http://127.0.0.1:${port}/`, { signal: controller.signal });
    } catch (error) {
      failed = error;
    }
    expect(failed).to.have.property('message', 'enough');
  });
});
