import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PluginDetail } from 'mortise/sdk';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

const config = '/admin/plugins/tool-mcp/config';

describe('secrets in the configuration of MCP servers', () => {
  let host: TestHost;
  before(async () => {
    host = await createTestHost({ plugins: ['admin', 'agent', 'tool-mcp'] });
  });
  after(() => host.stop());

  const put = async (servers: object): Promise<number> => {
    const response = await host.fetch(config, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ servers }),
    });
    return response.status;
  };
  const stored = (name: string): Promise<string> => readFile(join(host.configDir, name), 'utf8');
  const shown = async (): Promise<unknown> => {
    const detail = (await (await host.fetch('/admin/plugins/tool-mcp')).json()) as PluginDetail;
    return detail.config.find(({ name }) => name === 'tool-mcp.servers')?.value;
  };

  it('are stored apart from it wherever they are recognised, and the rest stays readable', async () => {
    const off = { enabled: false, timeout_seconds: 60 };
    const servers = {
      search: { url: 'https://mcp.example.com/mcp?region=eu&api_key=abc-123-def', ...off },
      keyed: { url: 'https://lena:swordfish@mcp.example.com/mcp?key=plain-words', ...off },
      path: { url: 'https://mcp.example.com/s/0a1b2c3d4e5f60718293a4b5c6d7e8f9/mcp', ...off },
      plain: { url: 'https://mcp.example.com/mcp?region=eu', headers: { 'X-Tenant': 'tenant-of-lena' }, ...off },
      program: { command: 'npx', args: ['-y', '--token', 'walrus', '--password=penguin', '--root', '/srv'], ...off },
    };
    expect(await put(servers)).to.equal(200);

    const file = await stored('tool-mcp.json');
    const secrets = ['abc-123-def', 'swordfish', 'plain-words', '0a1b2c3d4e5f', 'tenant-of-lena', 'walrus', 'penguin'];
    for (const secret of secrets) {
      expect(file).to.not.include(secret);
      expect(await stored('secrets.json')).to.include(secret);
      expect(JSON.stringify(await shown())).to.not.include(secret);
    }
    const { plain, program } = (JSON.parse(file) as { servers: Record<string, { url?: string; args?: unknown[] }> })
      .servers;
    expect(plain?.url).to.equal(servers.plain.url);
    expect(program?.args?.filter((entry) => typeof entry === 'string')).to.deep.equal([
      '-y',
      '--token',
      '--root',
      '/srv',
    ]);
    if (process.platform !== 'win32')
      expect((await stat(join(host.configDir, 'tool-mcp.json'))).mode & 0o777).to.equal(0o600);
    expect(await shown()).to.have.nested.property(
      'search.url',
      'https://mcp.example.com/mcp?region=eu&api_key=[REDACTED]',
    );
    expect(await shown()).to.have.deep.nested.property('program.args', [
      '-y',
      '--token',
      '***',
      '--password=[REDACTED]',
      '--root',
      '/srv',
    ]);

    // What was shown may be sent back.
    const before = await stored('secrets.json');
    expect(await put((await shown()) as object)).to.equal(200);
    expect(await stored('secrets.json')).to.equal(before);
    expect(await stored('tool-mcp.json')).to.equal(file);
  });
});
