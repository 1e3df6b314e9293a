import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { errorOf } from 'mortise/contracts/agent/testing';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

interface Asked {
  readonly method: string | undefined;
  readonly url: URL;
  readonly token: unknown;
  readonly body: string;
}

describe('web search', () => {
  let upstream: Server;
  let host: TestHost;
  let respond: (response: ServerResponse) => void;
  const asked: Asked[] = [];

  before(async () => {
    upstream = createServer(async (request: IncomingMessage, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const url = new URL(request.url ?? '', 'http://x');
      asked.push({ method: request.method, url, token: request.headers['x-subscription-token'], body });
      respond(response);
    });
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    host = await open({
      MORTISE_ENABLE_SEARCH_TOOL: 'true',
      MORTISE_SEARCH_SERPAPI_KEY: 'serp-secret-key',
      MORTISE_SEARCH_BRAVE_KEY: 'brave-secret-key',
      MORTISE_SEARCH_DEFAULT_PROVIDER: 'brave',
      MORTISE_SEARCH_SERPAPI_BASE_URL: base,
      MORTISE_SEARCH_BRAVE_BASE_URL: base,
    });
  });
  beforeEach(() => {
    asked.length = 0;
  });
  after(async () => {
    await host.stop();
    upstream.closeAllConnections();
    await new Promise((resolve) => upstream.close(resolve));
  });

  const open = (env: Record<string, string>) =>
    createTestHost({ plugins: ['agent', 'provider-demo', 'channel-console', 'tool-web-search'], env });
  const call = (on: TestHost, ...items: object[]) =>
    on.post('/agent/process', { session_id: 's', user_id: 'u', search: items });
  const reply = async (...items: object[]) => ((await (await call(host, ...items)).json()) as { reply: string }).reply;
  const json = (value: unknown) => (response: ServerResponse) => response.end(JSON.stringify(value));

  const hit = (member: string, text: string) => ({
    title: 'Harbour',
    [member]: 'https://example.com/h',
    [text]: 'opens',
  });
  const shown = '1. Harbour\n   https://example.com/h\n   opens';

  it('asks Brave with its token', async () => {
    respond = json({ web: { results: [hit('url', 'description'), { title: 'no address' }] } });
    expect(await reply({ query: 'when? & why', count: 99 })).to.equal(
      `search brave "when? & why" found 1 result(s)\n${shown}`,
    );
    expect(asked[0]).to.include({ method: 'GET', token: 'brave-secret-key' });
    expect(asked[0]?.url.pathname).to.equal('/res/v1/web/search');
    expect(Object.fromEntries(asked[0]?.url.searchParams ?? [])).to.deep.equal({ q: 'when? & why', count: '10' });
  });

  it('asks SerpApi with its key', async () => {
    respond = json({ organic_results: [hit('link', 'snippet')], search_information: { total_results: 7 } });
    expect(await reply({ query: 'harbour', provider: 'SerpApi' })).to.contain(shown);
    expect(asked[0]?.url.pathname).to.equal('/search.json');
    expect(Object.fromEntries(asked[0]?.url.searchParams ?? [])).to.deep.equal({
      engine: 'google',
      q: 'harbour',
      num: '5',
      api_key: 'serp-secret-key',
    });
  });

  it('asks Tavily with a body', async () => {
    const { port } = upstream.address() as AddressInfo;
    const other = await open({
      MORTISE_ENABLE_SEARCH_TOOL: 'true',
      MORTISE_SEARCH_TAVILY_KEY: 'tavily-secret-key',
      MORTISE_SEARCH_TAVILY_BASE_URL: `http://127.0.0.1:${port}`,
    });
    try {
      respond = json({ results: [hit('url', 'content')] });
      expect(((await (await call(other, { query: 'harbour' })).json()) as { reply: string }).reply).to.contain(shown);
      expect(asked[0]).to.deep.include({ method: 'POST' });
      expect(JSON.parse(asked[0]?.body ?? '')).to.deep.equal({
        api_key: 'tavily-secret-key',
        query: 'harbour',
        max_results: 5,
      });
    } finally {
      await other.stop();
    }
  });

  it('reports a service that fails as a result, without the key', async () => {
    for (const [answer, message] of [
      [(response: ServerResponse) => response.writeHead(500).end('serp-secret-key'), 'answered with status 500'],
      [(response: ServerResponse) => response.writeHead(302, { location: 'http://x/' }).end(), 'status 302'],
      [(response: ServerResponse) => response.end('<html>'), 'did not answer with JSON'],
      [(response: ServerResponse) => response.end('[]'), 'did not answer with an object'],
      [(response: ServerResponse) => response.end(`"${'x'.repeat(300_000)}"`), 'is too large'],
      [(response: ServerResponse) => response.destroy(), 'could not be reached'],
      [() => undefined, 'did not answer in time'],
    ] as const) {
      respond = answer;
      const text = await reply({ query: 'harbour', provider: 'serpapi', timeout_seconds: 3 });
      expect(text)
        .to.match(/^search serpapi "harbour" failed: /)
        .and.contain(message);
      expect(text).to.not.contain('secret');
    }
    expect(host.logs.join('')).to.not.contain('secret-key');
  });

  it('refuses with a documented sentence, before anything is asked', async () => {
    for (const [item, message] of [
      [{}, 'tool input query is required'],
      [{ query: ' ' }, 'tool input query is required'],
      [{ query: 'x', provider: 'altavista' }, 'tool input provider is unsupported'],
      [{ query: 'x', provider: 'tavily' }, 'tool input provider is not configured'],
    ] as const) {
      expect(await errorOf(await call(host, item))).to.include({ status: 400, code: 'invalid_tool_input', message });
    }
    expect(asked).to.deep.equal([]);
  });

  it('does not exist without a key, and a warning says so', async () => {
    const other = await open({ MORTISE_ENABLE_SEARCH_TOOL: 'true' });
    try {
      const tool = { biz_params: { tool: { name: 'search', items: [{ query: 'x' }] } } };
      const response = await other.post('/agent/process', { session_id: 's', user_id: 'u', ...tool });
      expect(await errorOf(response)).to.include({ status: 400, code: 'tool_not_supported' });
      expect(other.control.list().find(({ key }) => key === 'tool-web-search')).to.include({ state: 'active' });
      expect(other.logs.some((line) => line.includes('search_not_configured'))).to.equal(true);
    } finally {
      await other.stop();
    }
  });
});
