import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { embedderContract } from 'mortise/contracts/text-analysis/testing';
import { createTestHost } from 'mortise/sdk/testing';

interface Asked {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly model: string;
  readonly input: readonly string[];
}

describe('the OpenAI-compatible embedder', () => {
  let server: Server;
  let asked: Asked[] = [];
  let statuses: number[] = [];

  before(async () => {
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (bytes: Buffer) => (text += bytes.toString('utf8')));
      request.on('end', () => {
        const { model, input } = JSON.parse(text) as { model: string; input: string[] };
        asked.push({ url: request.url, authorization: request.headers.authorization, model, input });
        const status = statuses.shift() ?? 200;
        const data = input.map((one, index) => ({ index, embedding: [one.length + 1, one.codePointAt(0) ?? 0, 1] }));
        response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
        // The order of the answer is the server's: the index counts. Many texts take a while.
        setTimeout(() => response.end(JSON.stringify({ data: data.reverse() })), input.length > 60 ? 3_000 : 0).unref();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    asked = [];
    statuses = [];
  });

  const boot = () =>
    createTestHost({
      plugins: ['embedder-openai'],
      listen: false,
      config: {
        'embedder-openai': {
          api_key: 'sk-test',
          base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
          model: 'small',
          dimensions: 3,
        },
      },
    });

  embedderContract('the OpenAI-compatible embedder', { host: boot, key: 'openai' });

  it('asks for the model with the key, and retries transient failures', async () => {
    const host = await boot();
    try {
      const embed = (texts: readonly string[]) =>
        host.points.call('embedder', 'openai', (embedder, ctx) => embedder.embed({ texts, kind: 'document' }, ctx));
      statuses = [500, 429];
      expect(await embed(['a', 'bb'])).to.deep.equal([
        [2, 97, 1],
        [3, 98, 1],
      ]);
      expect(asked).to.have.length(3);
      expect(asked[0]).to.deep.equal({
        url: '/v1/embeddings',
        authorization: 'Bearer sk-test',
        model: 'small',
        input: ['a', 'bb'],
      });
      statuses = [401];
      const refused = await embed(['a']).then(
        () => undefined,
        (error: { code: string; message: string }) => error,
      );
      expect(refused?.code).to.equal('embedder_unavailable');
      expect(refused?.message).not.to.include('sk-test');
      expect(asked).to.have.length(4);
    } finally {
      await host.stop();
    }
  });
});
