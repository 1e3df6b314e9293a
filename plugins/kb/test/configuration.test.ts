import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createKbHost, type Json, type KbHost } from 'mortise/contracts/kb/testing';
import { until } from 'mortise/sdk/testing';

describe('the configuration of the knowledge base', () => {
  let kb: KbHost;
  before(async () => {
    kb = await createKbHost({ 'a.md': '# A\n\nAn otter swims.\n' });
    await kb.refresh();
  });
  after(() => kb.stop());

  const repos = [{ name: 'default', path: 'repo' }];
  const refusals: readonly (readonly [string, object, RegExp])[] = [
    [
      'a minimum above half of the maximum',
      { chunk: { max_tokens: 200, min_tokens: 101 } },
      /chunk\.min_tokens is 101/,
    ],
    ['a name that is used twice', { repos: [...repos, { name: 'default', path: 'x' }] }, /"default" is used twice/],
    ['a repo inside another one', { repos: [...repos, { name: 'in', path: 'repo/in' }] }, /inside the repo "default"/],
  ];

  for (const [name, change, message] of refusals) {
    it(`stays as it was after a change to ${name}, which raises an alert`, async () => {
      const alerts: Json[] = [];
      const stopListening = kb.host.app.kernel.events.on('alert', (alert) => void alerts.push(alert));
      await kb.host.control.configure('kb', { repos, watch: false, ...change });
      stopListening();
      expect(alerts.map(({ code }) => code)).to.deep.equal(['kb_config_invalid']);
      expect(alerts[0].message).to.match(message);
      expect((await kb.search('otter')).results).to.have.length(1);
      const { state, health } = await kb.host.control.inspect('kb');
      expect(state).to.equal('active');
      expect(health).to.deep.include({ ok: false });
      expect(health?.detail).to.match(message);
      await kb.host.control.configure('kb', { repos, watch: false });
      expect((await kb.host.control.inspect('kb')).health).to.deep.equal({ ok: true });
    });
  }

  it('keeps the plugin out at start with a code and a hint, until the file is corrected', async () => {
    const file = join(kb.host.dataDir, 'config', 'kb.json');
    await kb.host.control.disable('kb');
    await kb.host.control.configure('kb', { repos, watch: false, chunk: { max_tokens: 100, min_tokens: 60 } });
    const error = await kb.host.control.enable('kb').catch((refused: unknown) => refused as Json);
    expect(error.details).to.include({ key: 'kb', code: 'invalid_config' });
    expect(error.message).to.include('chunk.min_tokens is 60: it must be at most 50');
    expect(error.hint).to.include('config/kb.json');
    await writeFile(file, JSON.stringify({ repos, watch: false }));
    await until('it starts', async () => (await kb.host.control.inspect('kb')).state === 'active');
    expect((await kb.search('otter')).results).to.have.length(1);
  });
});
