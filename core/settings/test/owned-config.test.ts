import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { JsonSchema } from '../../schema/index.js';
import { createLogSink } from '../../telemetry/index.js';
import type { Snapshot } from '../index.js';
import { Project, repository } from './project.js';

const schema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    version: { const: 1 },
    limit: { type: 'number', minimum: 0, maximum: 1, default: 0.5, 'x-env': 'MORTISE_KB_LIMIT' },
    names: { type: 'array', items: { type: 'string' }, default: [], 'x-env': 'MORTISE_KB_NAMES' },
    counts: { type: 'array', items: { type: 'integer' }, 'x-env': 'MORTISE_KB_COUNTS' },
    extra: { type: 'object', 'x-env': 'MORTISE_KB_EXTRA' },
    roots: { type: 'array', items: { type: 'string' }, 'x-env': 'MORTISE_KB_ROOTS', 'x-env-separator': 'path' },
    either: { type: ['integer', 'string'], 'x-env': 'MORTISE_KB_EITHER' },
    api_key: { type: 'string', 'x-env': 'MORTISE_KB_API_KEY', 'x-secret': true },
    search: {
      type: 'object',
      additionalProperties: false,
      properties: {
        rerank: {
          type: 'object',
          properties: { enabled: { type: 'boolean', default: false, 'x-env': 'MORTISE_KB_RERANK' } },
        },
      },
    },
    servers: {
      type: 'object',
      additionalProperties: { type: 'object', properties: { headers: { type: 'object' } } },
    },
  },
};

interface Config {
  readonly limit: number;
  readonly names: readonly string[];
  readonly api_key?: string;
}

const file = 'config/kb.json';
const shown = join('config', 'kb.json');

describe('the configuration of a plugin', () => {
  let project: Project;
  beforeEach(async () => {
    project = await Project.make();
  });
  afterEach(() => project.remove());

  async function owned(env: Readonly<Record<string, string>> = {}, content?: unknown, of: JsonSchema = schema) {
    if (content !== undefined) await project.write(file, content);
    const settings = await project.settings(env);
    return { settings, config: await settings.own<Config>('kb', of) };
  }

  it('reports a file that is nested too deep, and keeps its last good state', async () => {
    const { settings, config } = await owned({}, { limit: 0.25 });
    await project.write(file, `{"extra": ${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`);
    await settings.poll();
    await settings.poll();
    expect(config.snapshot?.config.limit).to.equal(0.25);
    expect(config.problem?.message).to.include('is nested deeper than 100 levels');
  });

  it('has frozen defaults without a file, including nested ones', async () => {
    const { config } = await owned();
    expect(config.snapshot).to.deep.include({ revision: 1, source: 'defaults', sha256: null });
    expect(config.snapshot?.config).to.deep.equal({ limit: 0.5, names: [], search: { rerank: { enabled: false } } });
    expect(Object.isFrozen(config.snapshot?.config.names)).to.equal(true);
    expect(config.problem).to.equal(null);
  });

  it('reads variables as the types of their properties', async () => {
    const { config } = await owned({
      NEXTAI_KB_LIMIT: ' .25 ',
      MORTISE_KB_NAMES: 'a, b,,c',
      MORTISE_KB_COUNTS: '1,2',
      MORTISE_KB_EXTRA: '{"a":[1]}',
      MORTISE_KB_ROOTS: process.platform === 'win32' ? 'C:\\a;D:\\b' : '/a:/b',
      MORTISE_KB_EITHER: '7',
    });
    expect(config.snapshot?.config).to.deep.include({
      limit: 0.25,
      names: ['a', 'b', 'c'],
      counts: [1, 2],
      extra: { a: [1] },
      either: 7,
    });
    expect(config.snapshot?.config).to.have.property('roots').with.length(2);
  });

  it('reports a variable that is neither true nor false, which is read as false', async () => {
    const { settings, config } = await owned({ MORTISE_KB_RERANK: 'banana' });
    expect(config.snapshot?.config).to.deep.include({ search: { rerank: { enabled: false } } });
    expect(settings.findings().map(({ severity, message }) => `${severity} ${message}`)).to.deep.equal([
      'warning MORTISE_KB_RERANK is neither true nor false; it is read as false.',
    ]);
  });

  it('blocks only its plugin when a variable is wrong, naming it, its value and the allowed values', async () => {
    const { settings, config } = await owned({ MORTISE_KB_LIMIT: '7' });
    expect(config.snapshot).to.equal(undefined);
    expect(config.problem?.message).to.equal('MORTISE_KB_LIMIT is "7": it must be a number from 0 to 1.');
    expect((await settings.own('other', { type: 'object' })).snapshot).to.not.equal(undefined);
    expect(settings.findings()).to.have.length(1);
    expect(settings.findings()[0]).to.deep.include({ severity: 'error', key: 'kb', code: 'invalid_config' });
  });

  it('becomes valid by itself once the file is fixed, and reports that there was no configuration before', async () => {
    const { settings, config } = await owned({}, '{"limit": 7}');
    expect(config.problem?.message).to.equal(`${shown}: /limit is 7: it must be a number from 0 to 1.`);
    expect(project.alerts.map((alert) => [alert.source, alert.severity, alert.code])).to.deep.equal([
      ['settings:kb', 'medium', 'kb_config_invalid'],
    ]);
    const notified: [number, number | undefined][] = [];
    config.subscribe((next, previous) => notified.push([next.config.limit, previous?.config.limit]));
    await project.write(file, { limit: 1 });
    await settings.poll();
    expect(notified).to.deep.equal([[1, undefined]]);
    expect(settings.findings()).to.deep.equal([]);
  });

  for (const [when, age] of [
    ['just now', 0],
    ['an hour ago', 3_600_000],
  ] as const) {
    it(`detects a change that keeps size and modification time, of a file written ${when}`, async () => {
      const path = await project.write(file, '{"limit": 0.80}');
      const time = new Date(Date.now() - age);
      await utimes(path, time, time);
      const { settings, config } = await owned();
      await writeFile(path, '{"limit": 0.95}');
      await utimes(path, time, time);
      await settings.poll();
      expect(config.snapshot).to.deep.include({ revision: 2 });
      expect(config.snapshot?.config.limit).to.equal(0.95);
    });
  }

  it('detects a file that is renamed over it', async () => {
    const { settings, config } = await owned({}, { limit: 0.1 });
    await rename(await project.write('config/new.json', { limit: 0.2 }), project.path(file));
    await settings.poll();
    expect(config.snapshot?.config.limit).to.equal(0.2);
  });

  it('ignores a file that was only touched or reformatted', async () => {
    const { settings, config } = await owned({}, { limit: 0.1 });
    await utimes(project.path(file), new Date(), new Date(Date.now() + 5_000));
    await settings.poll();
    await project.write(file, '{\n  "limit": 0.1\n}');
    await settings.poll();
    expect(config.snapshot?.revision).to.equal(1);
  });

  it('keeps the last good state with every kind of invalid file, with one alert per content', async () => {
    const { settings, config } = await owned({}, { limit: 0.1 });
    const notified: Snapshot<Config>[] = [];
    config.subscribe((next) => notified.push(next));
    const bad = [
      '{"limit": 0.1',
      '{"version": 2}',
      '{"limit": 9}',
      '[]',
      '{"nonsense": 1}',
      `{"names": ["${'x'.repeat(1_048_576)}"]}`,
    ];
    for (const content of bad) {
      await project.write(file, content);
      await settings.poll();
      await settings.poll();
      expect(config.problem, content.slice(0, 20)).to.not.equal(null);
      expect(config.snapshot?.config.limit).to.equal(0.1);
    }
    expect(project.alerts).to.have.length(bad.length);
    await project.write(file, bad[0]);
    await settings.poll();
    expect(project.alerts).to.have.length(bad.length);
    expect(notified).to.deep.equal([]);
    await project.write(file, { limit: 0.2 });
    await settings.poll();
    expect(config.problem).to.equal(null);
    expect(notified.map((snapshot) => snapshot.config.limit)).to.deep.equal([0.2]);
  });

  it('reports a path that is not a regular file', async () => {
    await mkdir(project.path(file), { recursive: true });
    const { config } = await owned();
    expect(config.problem?.message).to.equal(`${shown}: the file is not a regular file.`);
  });

  it('does not wait for a named pipe instead of the file', async function () {
    if (process.platform === 'win32' || spawnSync('mkfifo', [project.path(file)]).status !== 0) return this.skip();
    const { config } = await owned();
    expect(config.problem?.message).to.contain('is not a regular file');
  });

  it('keeps the last good state when the file is removed', async () => {
    const { settings, config } = await owned({}, { limit: 0.1 });
    await rm(project.path(file));
    await settings.poll();
    expect(config.snapshot).to.deep.include({ revision: 1 });
    expect(config.snapshot?.config.limit).to.equal(0.1);
    await project.write(file, { limit: 0.3 });
    await settings.poll();
    expect(config.snapshot?.config.limit).to.equal(0.3);
    expect(settings.findings()).to.deep.equal([]);
  });

  it('clears the problem of an invalid file that is removed, and reports that it is missing', async () => {
    const { settings, config } = await owned({}, { limit: 0.1 });
    await project.write(file, { limit: 7 });
    await settings.poll();
    expect(settings.findings().map(({ code }) => code)).to.deep.equal(['invalid_config']);
    await rm(project.path(file));
    await settings.poll();
    expect([config.problem, config.snapshot?.config.limit]).to.deep.equal([null, 0.1]);
    expect(settings.findings().map(({ severity, code }) => `${severity} ${code}`)).to.deep.equal([
      'info config_file_gone',
    ]);
  });

  it('names the schema when its default is invalid, and accepts a file that overrides it', async () => {
    const properties = { limit: { type: 'number', maximum: 1, default: 7 } };
    const { settings, config } = await owned({}, undefined, { type: 'object', properties });
    expect(config.problem?.message).to.match(/^config\.schema\.json: the default of \/limit is 7: it must be /);
    await project.write(file, { limit: 1 });
    await settings.poll();
    expect(config.problem).to.equal(null);
  });

  it('is refused when a pattern of its schema backtracks catastrophically, and accepted once the pattern is fixed', async () => {
    const properties = { name: { type: 'string', pattern: '^(a+)+$' } };
    const { settings, config } = await owned({}, { name: `${'a'.repeat(40)}!` }, { type: 'object', properties });
    expect(config.snapshot).to.equal(undefined);
    expect(config.problem?.message).to.match(
      /^config\.schema\.json: the check of .*kb\.json takes .* backtracks without end\.$/,
    );
    await project.write(file, { name: 'aaa' });
    await settings.poll();
    expect([config.problem, config.snapshot?.config]).to.deep.equal([null, { name: 'aaa' }]);
  });

  it('starts from its defaults with an invalid file if its schema allows it, and stays watched', async () => {
    const lenient = { ...schema, 'x-on-invalid': 'default' };
    const { settings, config } = await owned({}, '{', lenient);
    expect(config.snapshot).to.deep.include({ revision: 1, source: 'defaults' });
    expect(config.problem).to.not.equal(null);
    const status = settings.serviceFor('kb').configStatus();
    expect(status).to.deep.include({ path: project.path(file), revision: 1, source: 'defaults', sha256: null });
    expect(status?.lastError?.message).to.contain('is not a JSON object');
    await project.write(file, { limit: 0.9 });
    expect(await settings.serviceFor('kb').reload()).to.deep.equal({ changed: true, revision: 2, error: null });
  });

  it('lets a variable name another file and another interval', async () => {
    const placed = { ...schema, 'x-file': { env: ['MORTISE_KB_CONFIG'], pollEnv: ['MORTISE_KB_RELOAD_MS'] } };
    await project.write('other/kb.json', { limit: 0.7 });
    const { config } = await owned(
      { NEXTAI_KB_CONFIG: 'other/kb.json', MORTISE_KB_RELOAD_MS: '0' },
      { limit: 0.1 },
      placed,
    );
    expect(config.snapshot?.config.limit).to.equal(0.7);
    const refused = await (await project.settings({ MORTISE_KB_RELOAD_MS: 'often' })).own('kb', placed);
    expect(refused.problem?.message).to.equal(
      'MORTISE_KB_RELOAD_MS is "often": it must be a whole number from 0 to 86400000.',
    );
    expect(refused.snapshot).to.equal(undefined);
  });

  it('can require members of a file although the file itself is optional', async () => {
    const versioned = { ...schema, 'x-file': { required: ['version'] } };
    const { settings, config } = await owned({}, undefined, versioned);
    expect(config.problem).to.equal(null);
    await project.write(file, { limit: 0.2 });
    await settings.poll();
    expect(config.problem?.message).to.equal(`${shown}: /version is required.`);
    await project.write(file, { version: 1, limit: 0.2 });
    await settings.poll();
    expect(config.snapshot?.config.limit).to.equal(0.2);
  });

  it('names the variable that can set a required property', async () => {
    const required = {
      type: 'object',
      required: ['address'],
      properties: { address: { type: 'string', 'x-env': ['MORTISE_KB_ADDRESS'] } },
    };
    const { config } = await owned({}, undefined, required);
    expect(config.problem?.message).to.equal(
      `${shown}: /address is required: write it there, or set MORTISE_KB_ADDRESS.`,
    );
    const set = await owned({ MORTISE_KB_ADDRESS: 'here' }, undefined, required);
    expect(set.config.problem).to.equal(null);
  });

  it('keeps working when a listener throws', async () => {
    const { settings, config } = await owned({}, { limit: 0.1 });
    let notified = 0;
    config.subscribe(() => {
      throw new Error('no');
    });
    config.subscribe(() => {
      notified += 1;
    });
    await project.write(file, { limit: 0.2 });
    await settings.poll();
    expect(notified).to.equal(1);
    expect(project.alerts.map((alert) => alert.code)).to.deep.equal(['config_listener_failed']);
  });

  it('does not notify listeners after it is disposed', async () => {
    const { settings, config } = await owned({}, { limit: 0.1 });
    let notified = 0;
    config.subscribe(() => {
      notified += 1;
    });
    await config.dispose();
    await project.write(file, { limit: 0.2 });
    await settings.poll();
    expect(notified).to.equal(0);
    expect(settings.effective('kb')).to.deep.equal([]);
  });

  describe('with secrets', () => {
    const canary = 'kanarienvogel4711';

    it('takes a secret by reference from the environment or secrets.json', async () => {
      await chmod(await project.write('config/secrets.json', { FROM_FILE: `${canary}-file` }), 0o600);
      const { settings, config } = await owned({ FROM_ENV: canary }, { api_key: { $secret: 'FROM_ENV' } });
      expect(config.snapshot?.config.api_key).to.equal(canary);
      expect(settings.effective('kb').find((row) => row.name === 'kb.api_key')).to.deep.equal({
        name: 'kb.api_key',
        owner: 'kb',
        value: 'ka***11',
        source: 'secret',
        origin: 'FROM_ENV',
        secret: true,
      });
      await project.write(file, { api_key: { $secret: 'FROM_FILE' } });
      await settings.poll();
      expect(config.snapshot?.config.api_key).to.equal(`${canary}-file`);
      expect(settings.secrets()).to.include.members([canary, `${canary}-file`]);
    });

    it('names a missing secret, and uses it once it exists', async () => {
      const { settings, config } = await owned({}, { api_key: { $secret: 'ABSENT' } });
      expect(config.problem?.message).to.equal(
        `${shown}: /api_key names the secret ABSENT, which is neither a variable nor in secrets.json.`,
      );
      await chmod(await project.write('config/secrets.json', { ABSENT: canary }), 0o600);
      await settings.poll();
      expect(config.snapshot?.config.api_key).to.equal(canary);
    });

    it('does not use a secrets.json that others may read, and reports the command to fix it', async function () {
      if (process.platform === 'win32') return this.skip();
      const path = await project.write('config/secrets.json', { NAME: canary });
      await chmod(path, 0o644);
      const { settings, config } = await owned({}, { api_key: { $secret: 'NAME' } });
      expect(config.snapshot).to.equal(undefined);
      const finding = settings.findings().find((found) => found.code === 'invalid_secrets_file');
      expect(finding?.fix).to.equal(`Run: chmod 600 ${path}`);
      expect(project.alerts.map((alert) => alert.code)).to.include('invalid_secrets_file');
      await chmod(path, 0o600);
      await settings.poll();
      expect(config.snapshot?.config.api_key).to.equal(canary);
    });

    it('masks them everywhere, also in maps that the schema does not describe', async () => {
      const content = { api_key: canary, servers: { one: { headers: { Authorization: canary, accept: 'x' } } } };
      const { settings } = await owned({}, content);
      const text = JSON.stringify(settings.effective('kb'));
      expect(text).to.not.contain(canary);
      expect(text).to.contain('"accept":"x"');
    });

    it('keeps them out of every message, alert, finding and log line', async () => {
      const lines: string[] = [];
      const sink = createLogSink({ level: 'trace', destination: { write: (line) => lines.push(line) } });
      const faulty = {
        ...schema,
        properties: { ...(schema.properties as object), api_key: { type: 'integer', 'x-secret': true } },
      };
      const { settings, config } = await owned({}, { api_key: canary, limit: 'x' }, faulty);
      for (const value of settings.secrets()) sink.hide(value);
      sink.log.trace({ problem: config.problem, alerts: project.alerts, raw: { note: canary } }, `Saw ${canary}.`);
      expect(JSON.stringify([config.problem, project.alerts, settings.findings()])).to.not.contain(canary);
      expect(lines).to.have.length(1);
      expect(lines[0]).to.not.contain(canary);
    });
  });

  describe('with a variable that is a secret of another plugin', () => {
    const canary = 'kanarienvogel4711';
    const names = { type: 'object', properties: { k: { type: 'string', 'x-env': 'KB_ACCESS' } } };
    const marks = { type: 'object', properties: { pass: { type: 'string', 'x-env': 'KB_ACCESS', 'x-secret': true } } };
    const asks = (env: string, more: object = {}): JsonSchema => ({
      type: 'object',
      properties: { k: { type: 'string', 'x-env': env, ...more } },
    });

    it('masks its value, whichever schema was read first', async () => {
      const { settings } = await owned({ KB_ACCESS: canary }, undefined, names);
      await settings.own('other', marks);
      expect(settings.effective('kb')).to.deep.equal([
        { name: 'kb.k', owner: 'kb', value: 'ka***11', source: 'environment', origin: 'KB_ACCESS', secret: true },
      ]);
      expect(settings.secrets()).to.include(canary);
    });

    it('masks a number and the entries of a list and of an object too', async () => {
      for (const [type, text] of [
        ['integer', '471147114711'],
        ['array', `${canary}, ${canary}`],
        ['object', JSON.stringify({ inner: [canary] })],
      ] as const) {
        const { settings } = await owned({ KB_ACCESS: text }, undefined, {
          type: 'object',
          properties: { k: { type, 'x-env': 'KB_ACCESS' } },
        });
        await settings.own('other', marks);
        expect(JSON.stringify(settings.effective('kb')), type).to.not.match(/kanarienvogel|4711471/);
      }
    });

    it('masks a value whose variable has the name of a secret, unless its schema declares that it is not one', async () => {
      const { settings, config } = await owned({ KB_TOKEN: canary }, undefined, asks('KB_TOKEN'));
      expect(config.snapshot?.config).to.deep.equal({ k: canary });
      expect(JSON.stringify(settings.effective('kb'))).to.not.contain(canary);
      // A secret of one configuration is masked everywhere in the process.
      await settings.dispose();
      const plain = await owned({ KB_TOKEN: canary }, undefined, asks('KB_TOKEN', { 'x-secret': false }));
      expect(plain.settings.effective('kb')[0]).to.include({ value: canary, secret: false });
    });

    it('does not show it in a message, including earlier ones', async () => {
      const strict = asks('KB_ACCESS', { maxLength: 3 });
      const { settings, config } = await owned({ KB_ACCESS: canary }, undefined, strict);
      expect(config.problem?.message).to.contain(canary);
      await settings.own('other', marks);
      expect(config.problem?.message).to.match(/^KB_ACCESS is "ka\*\*\*11": it must /);
      await settings.own('third', strict);
      expect(JSON.stringify([settings.findings(), project.alerts.slice(1)])).to.not.contain(canary);
    });

    for (const name of [
      'GOVERNANCE_ADMIN_KEY',
      'MORTISE_API_KEYS',
      'NEXTAI_API_KEY',
      'POSTGRES_DSN',
      'DATABASE_PASSWORD',
    ])
      it(`is refused when its schema reads the host's own: ${name}`, async () => {
        const error: unknown = await owned({}, undefined, asks(name, { 'x-secret': true })).catch((thrown) => thrown);
        expect(error).to.include({ code: 'invalid_schema', message: `it reads ${name}, which holds a secret` });
      });

    for (const word of ['env', 'pollEnv'])
      it(`is refused when its schema uses it as x-file.${word}`, async () => {
        const schemaOf = (name: string): JsonSchema => ({ type: 'object', 'x-file': { [word]: [name] } });
        for (const name of ['MORTISE_API_KEY', 'OPENAI_API_KEY']) {
          const error: unknown = await owned({}, undefined, schemaOf(name)).catch((thrown) => thrown);
          expect(error, name).to.include({ code: 'invalid_schema' });
        }
        expect((await owned({}, undefined, schemaOf('KB_PLACE'))).config.problem).to.equal(null);
      });
  });

  describe('when it is written', () => {
    it('is checked, replaced atomically and in effect immediately', async () => {
      const { config } = await owned({}, { $schema: '../x.json', limit: 0.1 });
      const notified: number[] = [];
      config.subscribe((next) => notified.push(next.config.limit));
      expect(await config.write({ limit: 0.4 })).to.deep.equal({ changed: true, revision: 2, problem: null });
      expect(notified).to.deep.equal([0.4]);
      expect(JSON.parse(await readFile(project.path(file), 'utf8'))).to.deep.equal({
        $schema: '../x.json',
        limit: 0.4,
      });
    });

    it('is refused with all errors, and the file and the state stay unchanged', async () => {
      const { config } = await owned({}, { limit: 0.1 });
      const before = await readFile(project.path(file), 'utf8');
      const error: unknown = await config.write({ limit: 3, nonsense: 1 }).catch((thrown: unknown) => thrown);
      expect(error).to.include({ code: 'invalid_config', status: 422 });
      expect(error).to.have.nested.property('details.errors').that.has.length(2);
      expect(await readFile(project.path(file), 'utf8')).to.equal(before);
      expect(config.snapshot?.revision).to.equal(1);
      expect(config.check({ limit: 3 })).to.have.length(1);
      expect(config.check({ limit: 0.3 })).to.deep.equal([]);
    });

    it('keeps a secret that is sent back as its mask, and a reference as a reference', async () => {
      const { config } = await owned(
        { NAME: 'from-the-environment' },
        { api_key: 'kanarienvogel-4711', extra: { token_key: { $secret: 'NAME' } } },
      );
      await config.write({ api_key: 'ka***11', limit: 0.2, extra: { token_key: 'fr***nt' } });
      expect(config.snapshot?.config).to.deep.include({
        api_key: 'kanarienvogel-4711',
        limit: 0.2,
        extra: { token_key: 'from-the-environment' },
      });
      const stored: unknown = JSON.parse(await readFile(project.path(file), 'utf8'));
      expect(stored).to.deep.include({ limit: 0.2, extra: { token_key: { $secret: 'NAME' } } });
      await config.write({ api_key: 'another-key' });
      expect(config.snapshot?.config.api_key).to.equal('another-key');
    });

    it('stores secrets in a separate file that only its owner can read and git ignores', async () => {
      const { config, settings } = await owned();
      const nested = { api_key: 'kanarienvogel', extra: { headers: { Authorization: 'zaunkoenig' }, accept: 'x' } };
      await config.write(nested);
      expect(config.snapshot?.config).to.deep.include(nested);
      expect(JSON.parse(await readFile(project.path(file), 'utf8'))).to.deep.equal({
        api_key: { $secret: 'kb/api_key' },
        extra: { headers: { Authorization: { $secret: 'kb/extra/headers/Authorization' } }, accept: 'x' },
      });
      const secrets = project.path('config/secrets.json');
      expect(JSON.parse(await readFile(secrets, 'utf8'))).to.deep.equal({
        'kb/api_key': 'kanarienvogel',
        'kb/extra/headers/Authorization': 'zaunkoenig',
      });
      if (process.platform !== 'win32') expect((await stat(secrets)).mode & 0o777).to.equal(0o600);
      expect(await readFile(join(repository, '.gitignore'), 'utf8')).to.contain('config/secrets.json\n');
      expect(settings.findings()).to.deep.equal([]);
    });

    it('removes only stored secrets that the configuration no longer has', async () => {
      await chmod(await project.write('config/secrets.json', { OWN: 'by-hand', 'other/key': 'x' }), 0o600);
      const { config } = await owned();
      await config.write({ api_key: 'kanarienvogel' });
      await config.write({ api_key: 'rotkehlchen' });
      expect(config.snapshot?.config.api_key).to.equal('rotkehlchen');
      const stored = async (): Promise<unknown> =>
        JSON.parse(await readFile(project.path('config/secrets.json'), 'utf8'));
      expect(Object.values((await stored()) as object).sort()).to.deep.equal(['by-hand', 'rotkehlchen', 'x']);
      await config.write({ limit: 0.2 });
      expect(await stored()).to.deep.equal({ OWN: 'by-hand', 'other/key': 'x' });
    });

    it('loses nothing when the secrets cannot be stored', async function () {
      if (process.platform === 'win32') return this.skip();
      const { config } = await owned({}, { limit: 0.1 });
      const secrets = await project.write('config/secrets.json', { OWN: 'by-hand' });
      await chmod(secrets, 0o644);
      const error: unknown = await config.write({ api_key: 'kanarienvogel' }).catch((thrown: unknown) => thrown);
      expect(error).to.include({ code: 'invalid_secrets_file', status: 409, hint: `Run: chmod 600 ${secrets}` });
      expect(JSON.parse(await readFile(project.path(file), 'utf8'))).to.deep.equal({ limit: 0.1 });
      const named: unknown = await config.write({ api_key: { $secret: 'OWN' } }).catch((thrown: unknown) => thrown);
      expect(named)
        .to.have.property('message')
        .that.matches(/names the secret OWN, and .*secrets\.json may be read by other users of this machine\.$/);
      await config.write({ limit: 0.2 });
      expect(config.snapshot?.config.limit).to.equal(0.2);
    });

    it('checks values that a variable overrides', async () => {
      const { config } = await owned({ KB_LIMIT: '0.4' }, undefined, {
        ...schema,
        properties: { ...(schema.properties as object), limit: { type: 'number', maximum: 1, 'x-env': 'KB_LIMIT' } },
      });
      const error: unknown = await config.write({ limit: { $: 1 } }).catch((thrown: unknown) => thrown);
      expect(error).to.include({ code: 'invalid_config', status: 422 });
      expect(error).to.have.nested.property('details.errors[0].path', '/limit');
      expect(config.check({ limit: 0.3 })).to.deep.equal([]);
      await config.write({ limit: 0.3 });
      expect(config.snapshot?.config.limit).to.equal(0.4);
    });

    it('gets required members from a patch too', async () => {
      const { config } = await owned({}, undefined, { ...schema, 'x-file': { required: ['version'] } });
      await config.patch({ limit: 0.3 });
      expect(JSON.parse(await readFile(project.path(file), 'utf8'))).to.deep.equal({ version: 1, limit: 0.3 });
    });

    it('is not patched while it is unreadable', async () => {
      await project.write(file, '{"limit": ');
      const { config } = await owned();
      const error: unknown = await config.patch({ limit: 0.3 }).catch((thrown: unknown) => thrown);
      expect(error).to.include({ code: 'invalid_config', status: 422 });
      expect(await readFile(project.path(file), 'utf8')).to.equal('{"limit": ');
    });

    it('is written serially', async () => {
      const { config } = await owned({}, { limit: 0 });
      await Promise.all(Array.from({ length: 20 }, (_, index) => config.write({ limit: index / 20 })));
      expect(config.snapshot?.config.limit).to.equal(0.95);
      expect(JSON.parse(await readFile(project.path(file), 'utf8'))).to.deep.equal({ limit: 0.95 });
    });
  });

  it('is watched by a real process until it exits by itself', async () => {
    await project.write(file, { limit: 0.1 });
    const module = fileURLToPath(new URL('../index.js', import.meta.url));
    const script = `
      const { openSettings } = await import(${JSON.stringify(module)});
      const opened = await openSettings({ projectDir: ${JSON.stringify(project.folder)}, env: { MORTISE_SETTINGS_POLL_MS: '25' } });
      const config = await opened.settings.own('kb', ${JSON.stringify(schema)});
      const keep = setInterval(() => {}, 1000);
      config.subscribe((next) => { console.log(next.config.limit); clearInterval(keep); });
      opened.settings.watch();
      console.log('ready');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: repository });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (text.includes('ready'))
        void project.write('config/kb.tmp', { limit: 0.6 }).then((path) => rename(path, project.path(file)));
    });
    const code = await new Promise((resolve) => child.on('exit', resolve));
    expect([code, output]).to.deep.equal([0, 'ready\n0.6\n']);
  });
});
