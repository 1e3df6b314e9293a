import { expect } from 'chai';
import { createTestHost, type TestHost, type TestPlugin } from 'mortise/sdk/testing';

/** A route that calls itself over HTTP. */
const echoing = (calls: string[]): TestPlugin => ({
  manifest: {
    key: 'echoing',
    permissions: {
      services: ['http', 'fetch'],
      network: ['*'],
      routes: [{ name: 'again', kind: 'http', method: 'POST', path: '/again', auth: 'key' }],
    },
  },
  definition: {
    key: 'echoing',
    start: (host) => {
      const http = host.use('http');
      const fetch = host.use('fetch');
      host.contribute('route', 'again', {
        handle: async (request, { signal }) => {
          const { by, name } = request.body as { readonly by: string; readonly name: string };
          calls.push(by);
          // Limited, in case no limit refuses it.
          if (calls.length > 200) return { status: 500, body: {} };
          const url = `${(http.origin ?? '').replace('127.0.0.1', name)}/again`;
          const headers = { 'content-type': 'application/json' };
          const body = JSON.stringify({ by, name });
          if (by === 'bytes') {
            const answer = await fetch.bytes(url, { method: 'POST', headers, body: Buffer.from(body), signal });
            return { status: answer.status, body: {} };
          }
          const answer = await fetch(url, { method: 'POST', headers, body, signal });
          return { status: answer.status, body: (await answer.json()) as object };
        },
      });
    },
  },
});

describe('a plugin that calls its own server', () => {
  let host: TestHost;
  const calls: string[] = [];
  before(async () => {
    host = await createTestHost({ extra: [echoing(calls)] });
  });
  after(() => host.stop());
  beforeEach(() => calls.splice(0));

  for (const [by, name] of [
    ['fetch', '127.0.0.1'],
    ['fetch', 'localhost'],
    ['bytes', '127.0.0.1'],
  ] as const) {
    it(`by ${by} at ${name} is refused when its calls never end`, async () => {
      const answer = await host.post('/again', { by, name });
      expect(calls.length).to.equal(64);
      expect(answer.status).to.equal(508);
      if (by === 'fetch') expect(await answer.json()).to.have.nested.property('error.code', 'call_too_deep');
    });
  }

  it('is not refused for an invalid header', async () => {
    const body = JSON.stringify({ by: 'fetch', name: '127.0.0.1' });
    const asked = async (depth: string): Promise<number> => {
      calls.splice(0);
      const headers = { 'content-type': 'application/json', 'mortise-call-depth': depth };
      await host.fetch('/again', { method: 'POST', headers, body });
      return calls.length;
    };
    expect([await asked('many'), await asked('-5'), await asked('60'), await asked('999')]).to.deep.equal([
      64, 64, 4, 0,
    ]);
  });
});
