import { expect } from 'chai';
import { createTestHost, type TestHost } from '../../sdk/testing/index.js';

describe('settings of the HTTP server in config/mortise.json', () => {
  let host: TestHost | undefined;
  afterEach(() => host?.stop());

  it('set the interval of keep-alive comments on event streams', async () => {
    // The default interval is 15 s.
    host = await createTestHost({
      config: { mortise: { http: { sse_keepalive_seconds: 1 } } },
      extra: [
        {
          manifest: {
            key: 'silent',
            contributes: { route: ['stream'] },
            permissions: { routes: [{ name: 'stream', kind: 'http', method: 'GET', path: '/silent', auth: 'public' }] },
          },
          definition: {
            key: 'silent',
            register: (own) =>
              void own.contribute('route', 'stream', {
                handle: async (_, { signal }) => ({
                  sse: true,
                  stream: (async function* () {
                    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
                    yield '';
                  })(),
                }),
              }),
          },
        },
      ],
    });
    const response = await host.fetch('/silent');
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).to.match(/^:/);
    await reader?.cancel();
  });
});
