import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { CronNodeContext, CronNodeFacts, GuardedFetch } from 'mortise/sdk';
import { httpRequestNode } from '../http-request.js';

const facts: CronNodeFacts = { summary: 'Made by a test.', paramsSchema: {} };

/** The node before a fetch without its guard, which would refuse a server of this machine. */
const node = httpRequestNode(facts, (async (url, { untrusted, ...options } = {}) => {
  expect(untrusted).to.equal(true);
  return fetch(url, options);
}) as GuardedFetch);

const ctx = (signal = new AbortController().signal) =>
  ({ signal, idempotencyKey: 'cron:j:1:n' }) as Partial<CronNodeContext> as CronNodeContext;

describe('an HTTP request of a workflow', () => {
  let server: Server;
  let origin: string;
  const seen: { method: string | undefined; headers: IncomingMessage['headers']; body: string }[] = [];

  before(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        seen.push({ method: request.method, headers: request.headers, body });
        if (request.url === '/hang') return;
        if (request.url === '/large') return void response.end('x'.repeat(200_000));
        if (request.url === '/gone') response.statusCode = 404;
        if (request.url === '/broken') {
          response.writeHead(200, { 'content-length': '100' }).write('half');
          setImmediate(() => response.destroy());
          return;
        }
        response.setHeader('content-type', 'application/json');
        response.end('{"count":3}');
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(() => {
    server.closeAllConnections();
    server.close();
  });

  it('sends JSON with the idempotency key and returns JSON', async () => {
    const params = { url: `${origin}/ok`, method: 'POST', headers: { 'x-own': '1' }, body: { a: [1] } };
    const { output, result } = await node.run(params, ctx());
    expect(output).to.deep.equal({ status: 200, headers: { 'content-type': 'application/json' }, json: { count: 3 } });
    expect(result).to.equal('200');
    const { method, headers, body } = seen.at(-1) ?? {};
    expect([method, body]).to.deep.equal(['POST', '{"a":[1]}']);
    expect(headers).to.deep.include({
      'x-own': '1',
      'content-type': 'application/json',
      'idempotency-key': 'cron:j:1:n',
    });
  });

  it('fails for a status that is not accepted', async () => {
    const failure = await node.run({ url: `${origin}/gone` }, ctx()).catch((error: Error) => error);
    expect(failure).to.have.property('message', `${new URL(origin).host} answered with status 404`);
    const { output } = await node.run({ url: `${origin}/gone`, accept_status: [404] }, ctx());
    expect(output).to.have.property('status', 404);
  });

  it('names the host of a request that fails, and nothing else of its address', async () => {
    const failureOf = (url: string) => node.run({ url }, ctx()).catch((error: Error) => error);
    expect(await failureOf('http://user:secret@127.0.0.1:1/path?token=t')).to.deep.include({
      code: 'http_request_failed',
      message: '127.0.0.1:1 could not be reached',
    });
    expect(await failureOf(`${origin}/broken`)).to.deep.include({
      code: 'http_request_failed',
      message: `the answer of ${new URL(origin).host} broke off`,
    });
  });

  it('reads a large answer in part', async () => {
    const { output } = await node.run({ url: `${origin}/large` }, ctx());
    expect(output).to.have.property('truncated', true);
    expect(output?.body).to.have.length(48 * 1_024);
  });

  it('is aborted with its run', async () => {
    const gone = new AbortController();
    const running = node.run({ url: `${origin}/hang` }, ctx(gone.signal)).catch((error: unknown) => error);
    setImmediate(() => gone.abort(new Error('the run ended')));
    expect(await running).to.have.property('message', 'the run ended');
  });

  it('checks addresses and names of headers, but not templates', () => {
    expect(node.validate?.({ url: 'ftp://x' })).to.equal('url must be an http or https URL');
    expect(node.validate?.({ url: 'https://x', headers: { 'a b': '1' } })).to.equal(
      'headers has an invalid name: "a b"',
    );
    expect(node.validate?.({ url: '{{ nodes.a.json.url }}' })).to.equal(undefined);
  });
});
