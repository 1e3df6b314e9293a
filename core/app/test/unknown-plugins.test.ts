import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';
import { temporaryFolder } from '../../sdk/testing/test-database.js';

describe('a server whose plugins.json has never been valid', () => {
  let host: TestHost;
  const file = join(temporaryFolder('plugins'), 'plugins.json');
  before(async () => {
    await writeFile(file, '{');
    host = await createTestHost({ plugins: ['mcp-server'], env: { MORTISE_PLUGINS_FILE: file } });
  });
  after(() => host.stop());

  it('reports no plugin as disabled, and names the file to fix', async () => {
    const answer = await host.fetch('/mcp', { headers: { accept: 'text/event-stream' } });
    const text = await answer.text();
    expect(answer.status, text).to.equal(503);
    expect(text).to.match(/No plugin is enabled\. Correct .*plugins\.json; it is read again automatically\./);
    expect(text).to.not.include('disabled');
    const unknown = await host.fetch('/nowhere');
    expect(unknown.status).to.equal(404);

    await writeFile(file, JSON.stringify({ version: 1, plugins: { 'mcp-server': { enabled: false } }, bindings: {} }));
    await until(async () => (await (await host.fetch('/mcp')).text()).includes('plugin mcp-server is disabled'));
  });
});
