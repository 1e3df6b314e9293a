import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

const mebibyte = 1024 * 1024;

describe('the largest request on /mcp', () => {
  let host: TestHost;
  afterEach(() => host.stop());

  const limitOf = async (plugins: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    host = await createTestHost({ plugins, env });
    const response = await host.post('/mcp', 'x'.repeat(21 * mebibyte));
    const { details } = (await response.json()) as { details: { max_bytes: number } };
    return details.max_bytes;
  };

  it('leaves room for one evidence upload in base64', async () => {
    const env = { MORTISE_EVIDENCE_MAX_SIZE_BYTES: String(4 * mebibyte) };
    expect(await limitOf(['mcp-server', 'evidence-store'], env)).to.equal(6 * mebibyte + 64 * 1024);
  });

  it('fits the largest evidence limit, below 20 MiB', async () => {
    const env = { EVIDENCE_MAX_SIZE_BYTES: '13369344' };
    expect(await limitOf(['mcp-server', 'evidence-store'], env)).to.equal(1.5 * 13_369_344 + 64 * 1024);
  });

  it('is at least 4 MiB', async () => {
    expect(await limitOf(['mcp-server', 'evidence-store'])).to.equal(4 * mebibyte);
    await host.stop();
    expect(await limitOf(['mcp-server'])).to.equal(4 * mebibyte);
  });
});
