import { mkdir, readFile, rm } from 'node:fs/promises';
import { expect } from 'chai';
import { type Desired, openPluginsFile, type Settings } from '../index.js';
import { Project } from './project.js';

const start = { version: 1, revision: 4, plugins: { kb: { enabled: true }, gate: { enabled: false, required: true } } };

function withKb(enabled: boolean) {
  return (state: Desired): Desired => ({
    ...state,
    plugins: { ...state.plugins, kb: { ...state.plugins.kb, enabled } },
  });
}

describe('plugins.json', () => {
  let project: Project;
  let settings: Settings;
  beforeEach(async () => {
    project = await Project.make();
    settings = await project.settings();
  });
  afterEach(() => project.remove());

  async function open(content?: unknown) {
    if (content !== undefined) await project.write('plugins.json', content);
    return openPluginsFile({ file: settings.host.pluginsFile, dataDir: settings.host.dataDir, settings });
  }

  async function stored(): Promise<unknown> {
    return JSON.parse(await readFile(project.path('plugins.json'), 'utf8'));
  }

  it('is read, checked and frozen', async () => {
    const plugins = await open(start);
    expect(plugins.current).to.deep.equal({ ...start, bindings: {}, renamed: {} });
    expect(plugins.source).to.equal('file');
    expect(Object.isFrozen(plugins.current.plugins.kb)).to.equal(true);
  });

  it('may be missing at the very first start', async () => {
    const plugins = await open();
    expect(plugins).to.deep.include({ source: 'empty', problem: null });
    await plugins.write(withKb(true));
    expect(await stored()).to.deep.equal({ version: 1, revision: 1, plugins: { kb: { enabled: true } } });
  });

  it('is replaced with the next revision, and keeps members that only users set', async () => {
    const plugins = await open({
      $schema: './x.json',
      ...start,
      plugins: { ...start.plugins, admin: { enabled: true, required: true } },
    });
    const notified: number[] = [];
    plugins.subscribe((next, previous) => notified.push(previous.revision, next.revision));
    const next = await plugins.write((state) => ({ ...withKb(false)(state), bindings: { 'tool:echo': 'kb' } }), {
      revision: 4,
    });
    expect(next.revision).to.equal(5);
    expect(notified).to.deep.equal([4, 5]);
    expect(await stored()).to.deep.equal({
      $schema: './x.json',
      version: 1,
      revision: 5,
      plugins: {
        kb: { enabled: false },
        gate: { enabled: false, required: true },
        admin: { enabled: true, required: true },
      },
      bindings: { 'tool:echo': 'kb' },
    });
  });

  it('refuses a change based on an old revision, and writes nothing for one without effect', async () => {
    const plugins = await open(start);
    const error: unknown = await plugins.write(withKb(false), { revision: 3 }).catch((thrown: unknown) => thrown);
    expect(error).to.include({ code: 'revision_conflict', status: 409 });
    await plugins.write(withKb(true));
    expect(await stored()).to.deep.equal(start);
  });

  it('refuses a change that would make it unreadable', async () => {
    const plugins = await open(start);
    const error: unknown = await plugins
      .write((state) => ({ ...state, plugins: { 'Not A Key': { enabled: true } } }))
      .catch((thrown: unknown) => thrown);
    expect(error).to.include({ code: 'invalid_plugins_file' });
    expect(await stored()).to.deep.equal(start);
  });

  it('serializes fifty concurrent changes', async () => {
    const plugins = await open(start);
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        plugins.write((state) => ({ ...state, plugins: { ...state.plugins, [`p${index}`]: { enabled: true } } })),
      ),
    );
    expect(plugins.current.revision).to.equal(54);
    expect(Object.keys(plugins.current.plugins)).to.have.length(52);
    expect(await stored()).to.have.property('revision', 54);
  });

  it('is reloaded after a manual edit that did not raise the revision', async () => {
    const plugins = await open(start);
    const notified: boolean[] = [];
    plugins.subscribe((next) => notified.push(next.plugins.kb?.enabled === true));
    await project.write('plugins.json', { ...start, plugins: { kb: { enabled: false } } });
    await settings.poll();
    expect(notified).to.deep.equal([false]);
    expect(plugins.current.revision).to.equal(5);
  });

  it('reads a manual edit before it applies a change', async () => {
    const plugins = await open(start);
    await project.write('plugins.json', { ...start, plugins: { ...start.plugins, cron: { enabled: true } } });
    await plugins.write(withKb(false));
    expect(Object.keys(plugins.current.plugins).sort()).to.deep.equal(['cron', 'gate', 'kb']);
  });

  const broken: readonly (readonly [string, string])[] = [
    ['{"version": 1,', 'is not valid JSON'],
    ['{"version": 2, "plugins": {}}', 'is not valid: /version must be 1'],
    ['{"version": 1, "plugins": {"kb": true}}', 'is not valid: /plugins/kb must be an object'],
    [
      '{"version": 1, "plugins": {"kb": {"enabled": true, "requird": true}}}',
      'is not valid: /plugins/kb/requird is not a known name',
    ],
    ['{"version": 1, "plugins": {"a-b": {"enabled": true}, "a_b": {"enabled": true}}}', 'names the plugin a_b twice'],
    [`{"version": 1, "plugins": ${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`, 'is nested deeper than 100 levels'],
  ];
  for (const [content, reason] of broken) {
    it(`keeps the running state through an edit that ${reason}`, async () => {
      const plugins = await open(start);
      let notified = 0;
      plugins.subscribe(() => {
        notified += 1;
      });
      await project.write('plugins.json', content);
      await settings.poll();
      await settings.poll();
      expect([notified, plugins.current.revision]).to.deep.equal([0, 4]);
      expect(plugins.problem?.message).to.contain(`plugins.json ${reason}`);
      expect(settings.findings().map((finding) => finding.code)).to.deep.equal(['plugins_file_invalid']);
      expect(project.alerts.map((alert) => alert.code)).to.deep.equal(['plugins_file_invalid']);
      await project.write('plugins.json', start);
      await settings.poll();
      expect([plugins.problem, settings.findings().length]).to.deep.equal([null, 0]);
    });
  }

  it('starts from the last good copy when it is broken or missing, and reports it', async () => {
    await open(start);
    for (const breakIt of [() => project.write('plugins.json', '{'), () => rm(project.path('plugins.json'))]) {
      await breakIt();
      project.alerts.length = 0;
      settings = await project.settings();
      const plugins = await open();
      expect(plugins.source).to.equal('last-good');
      expect(plugins.current).to.deep.include(start);
      expect(settings.findings().map((finding) => finding.code)).to.deep.equal(['plugins_file_invalid']);
      expect(project.alerts.map((alert) => alert.code)).to.deep.equal(['plugins_file_invalid']);
    }
  });

  it('can be changed although its last good copy cannot be written, reports that, and writes the copy later', async () => {
    const plugins = await open(start);
    const copy = project.path('.data/plugins.last-good.json');
    await rm(copy);
    await mkdir(copy);
    await plugins.write(withKb(false));
    expect(await stored()).to.have.nested.property('plugins.kb.enabled', false);
    expect(settings.findings().map((finding) => finding.code)).to.deep.equal(['plugins_copy_failed']);
    expect(project.alerts.map((alert) => alert.code)).to.deep.equal(['plugins_copy_failed']);
    await rm(copy, { recursive: true });
    await settings.poll();
    expect(settings.findings()).to.deep.equal([]);
    expect(JSON.parse(await readFile(copy, 'utf8'))).to.have.nested.property('plugins.kb.enabled', false);
  });

  it('is not replaced by a change while it is broken without a good copy', async () => {
    await project.write('plugins.json', '{"version": 1, "plugins": {"kb": {"enabled": true} "admin": {}}}');
    const plugins = await open();
    expect(plugins.source).to.equal('empty');
    const error = await plugins.write(withKb(false)).catch((caught: unknown) => caught);
    expect(error).to.include({ code: 'plugins_file_invalid', status: 409 });
    expect((error as { hint: string }).hint).to.contain('Correct plugins.json');
    expect(await readFile(project.path('plugins.json'), 'utf8')).to.contain('"admin"');
    await project.write(
      'plugins.json',
      '{"version": 1, "plugins": {"kb": {"enabled": true}, "admin": {"enabled": true}}}',
    );
    await plugins.write(withKb(false));
    expect(await stored()).to.have.nested.property('plugins.admin.enabled', true);
  });

  it('saves a broken file before a change replaces it', async () => {
    const plugins = await open(start);
    await project.write('plugins.json', '{ "my": "work"');
    await plugins.write(withKb(false));
    expect(await stored()).to.have.nested.property('plugins.kb.enabled', false);
    expect(await readFile(project.path('.data/plugins.refused.json'), 'utf8')).to.equal('{ "my": "work"');
    expect(plugins.problem).to.equal(null);
  });
});
