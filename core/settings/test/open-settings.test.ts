import { join } from 'node:path';
import { expect } from 'chai';
import { Project } from './project.js';

describe('host settings', () => {
  let project: Project;
  beforeEach(async () => {
    project = await Project.make();
  });
  afterEach(() => project.remove());

  it('are complete without any file or variable', async () => {
    const { host } = await project.settings();
    expect(host.http).to.deep.include({ host: '127.0.0.1', port: 8088, apiKey: undefined, principals: [] });
    expect(host.dataDir).to.equal(project.path('.data'));
    expect(host.pluginsFile).to.equal(project.path('plugins.json'));
    expect(host.pluginsDir).to.equal(project.path('.data/plugins'));
    expect(host.database).to.deep.equal({
      dialect: 'sqlite',
      file: project.path('.data/mortise.db'),
      schema: 'realtime',
      poolMax: 10,
    });
    expect(host.version).to.equal('1.2.3');
    expect(Object.isFrozen(host)).to.equal(true);
  });

  it('prefer variables to the file and the file to defaults, and report their origin', async () => {
    await project.write('config/mortise.json', { http: { port: 1111, host: '127.0.0.2' } });
    const settings = await project.settings({ MORTISE_PORT: '2222' });
    expect([settings.host.http.port, settings.host.http.host]).to.deep.equal([2222, '127.0.0.2']);
    const row = (name: string) => settings.effective('host').find((value) => value.name === name);
    expect(row('host.http.port')).to.include({ value: 2222, source: 'environment', origin: 'MORTISE_PORT' });
    expect(row('host.http.host')).to.include({
      value: '127.0.0.2',
      source: 'file',
      origin: join('config', 'mortise.json'),
    });
    expect(row('host.http.trust_proxy')).to.include({ value: false, source: 'default', origin: null });
  });

  it('read NEXTAI_X if MORTISE_X is not set, and treat a blank variable as unset', async () => {
    expect((await project.settings({ NEXTAI_PORT: '1000' })).host.http.port).to.equal(1000);
    expect((await project.settings({ NEXTAI_PORT: '1000', MORTISE_PORT: '2000' })).host.http.port).to.equal(2000);
    expect((await project.settings({ NEXTAI_PORT: '1000', MORTISE_PORT: '  ' })).host.http.port).to.equal(1000);
  });

  it('use the first set name of a property with several', async () => {
    expect((await project.settings({ PROJECT_KEY: 'b' })).host.projectKey).to.equal('b');
    expect((await project.settings({ PROJECT_KEY: 'b', NEXTAI_PROJECT_KEY: 'a' })).host.projectKey).to.equal('a');
  });

  it('read .env of the working directory, below the real environment', async () => {
    await project.write(
      '.env',
      '# comment\nexport MORTISE_PORT="3000" # behind\nMORTISE_HOST=\'127.0.0.3\'\n\nMORTISE_ALLOWED_HOSTS=a.test, b.test\n',
    );
    const { host } = await project.settings({ MORTISE_HOST: '127.0.0.4' });
    expect(host.http).to.deep.include({ port: 3000, host: '127.0.0.4', allowedHosts: ['a.test', 'b.test'] });
  });

  it('read the env file that MORTISE_ENV_FILE names, and refuse to start without it', async () => {
    await project.write('other.env', 'MORTISE_PORT=3001');
    expect((await project.settings({ MORTISE_ENV_FILE: 'other.env' })).host.http.port).to.equal(3001);
    expect(await project.errors({ MORTISE_ENV_FILE: 'missing.env' })).to.deep.equal([
      `The env file ${project.path('missing.env')} cannot be read: it does not exist.`,
    ]);
  });

  for (const [word, expected] of [
    ['true', true],
    ['1', true],
    ['YES', true],
    ['On', true],
    ['false', false],
    ['0', false],
    ['no', false],
    ['whatever', false],
  ] as const) {
    it(`read "${word}" as ${expected}`, async () => {
      expect((await project.settings({ MORTISE_TRUST_PROXY: word })).host.http.trustProxy).to.equal(expected);
    });
  }

  const refused: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{ MORTISE_PORT: '70000' }, 'MORTISE_PORT is "70000": it must be a whole number from 0 to 65535.'],
    [{ NEXTAI_PORT: 'x' }, 'NEXTAI_PORT is "x": it must be a whole number from 0 to 65535.'],
    [{ MORTISE_PORT: '80.5' }, 'MORTISE_PORT is "80.5": it must be a whole number from 0 to 65535.'],
    [{ MORTISE_PORT: '0x50' }, 'MORTISE_PORT is "0x50": it must be a whole number from 0 to 65535.'],
    [{ MORTISE_API_KEYS: 'some' }, 'MORTISE_API_KEYS: /0 is "some": it must be an object.'],
    [{ MORTISE_API_KEYS: '[{"key":"k"}]' }, 'MORTISE_API_KEYS: /0/id is required.'],
    [
      { MORTISE_API_KEYS: '[{"key":"k","id":"i","admin":7}]' },
      'MORTISE_API_KEYS: /0/admin is 7: it must be true or false.',
    ],
    [
      { MORTISE_TOOL_RATE_LIMITS: '{"memory_store":"often"}' },
      'MORTISE_TOOL_RATE_LIMITS: /memory_store is "often": it must be text that matches ^[1-9][0-9]{0,8}/[1-9][0-9]{0,8}$.',
    ],
    [{ MORTISE_LOCALE: 'fr' }, 'MORTISE_LOCALE is "fr": it must be one of en-US, zh-CN.'],
  ];
  for (const [env, sentence] of refused) {
    it(`refuse to start: ${sentence}`, async () => {
      expect(await project.errors(env)).to.deep.equal([sentence]);
    });
  }

  it('never show the secret in a refused variable', async () => {
    const canary = 'kanarienvogel4711';
    const variables: readonly Readonly<Record<string, string>>[] = [
      { MORTISE_API_KEYS: `[{"key":"${canary}"}]` },
      { MORTISE_API_KEYS: `[{"key":"${canary}"` },
      { DATABASE_URL: `mysql://root:${canary}@db/x` },
      { MORTISE_SECRET_KEY: canary },
    ];
    for (const env of variables) {
      const errors = await project.errors(env);
      expect(errors).to.have.length(1);
      expect(errors[0]).to.contain(Object.keys(env)[0]).and.not.contain(canary);
    }
  });

  it('refuse a broken or misspelt file with the path of the fault', async () => {
    await project.write('config/mortise.json', '{ "http": ');
    expect(await project.errors({})).to.deep.equal([
      `${join('config', 'mortise.json')}: the file is not a JSON object.`,
    ]);
    await project.write('config/mortise.json', { http: { prot: 1, port: '1' } });
    const errors = await project.errors({});
    expect(errors[0]).to.equal(
      `${join('config', 'mortise.json')}: /http/port is "1": it must be a whole number from 0 to 65535.`,
    );
    expect(errors[1]).to.match(/^config.mortise\.json: \/http\/prot is not a known name; known here: host, port/);
  });

  it('fall back to the default for an invalid HTTP timeout, with a log message (A68)', async () => {
    const settings = await project.settings({
      MORTISE_HTTP_READ_TIMEOUT_SECONDS: 'soon',
      MORTISE_HTTP_IDLE_TIMEOUT_SECONDS: '0',
      MORTISE_HTTP_WRITE_TIMEOUT_SECONDS: '0',
    });
    expect(settings.host.http.timeouts).to.deep.equal({ readHeader: 10, read: 120, write: 0, idle: 120 });
    expect(settings.warnings).to.deep.equal([
      'MORTISE_HTTP_READ_TIMEOUT_SECONDS is "soon": it must be a whole number from 1 to 86400. Its default is used.',
      'MORTISE_HTTP_IDLE_TIMEOUT_SECONDS is "0": it must be a whole number from 1 to 86400. Its default is used.',
    ]);
    const row = settings.effective('host').find((value) => value.name === 'host.http.idle_timeout_seconds');
    expect(row).to.include({ value: 120, source: 'default' });
  });

  it('select the database by an address, its parts, or a file', async () => {
    const url = 'postgres://u:p@db/x';
    expect((await project.settings({ POSTGRES_DSN: url })).host.database).to.include({
      dialect: 'postgres',
      connection: url,
    });
    const parts = (await project.settings({ DATABASE_HOST: 'db', DATABASE_NAME: 'n', DATABASE_SCHEMA: 'team' })).host
      .database;
    expect(parts).to.deep.equal({
      dialect: 'postgres',
      connection: { host: 'db', port: 5432, user: 'postgres', password: '', database: 'n' },
      schema: 'team',
      poolMax: 10,
      answerTimeoutMs: 5_000,
    });
  });

  it('resolve relative paths of variables against the working directory', async () => {
    const { host } = await project.settings({ MORTISE_DATA_DIR: 'elsewhere', MORTISE_PLUGINS_FILE: '/tmp/p.json' });
    expect([host.dataDir, host.pluginsFile]).to.deep.equal([project.path('elsewhere'), '/tmp/p.json']);
  });

  it('find the workspace: the nearest git working tree', async () => {
    await project.write('.git/HEAD', 'x');
    expect((await project.settings()).host.workspaceDir).to.equal(project.folder);
  });

  it('accept principals with additional members, each id once', async () => {
    const keys = [{ key: 'aaaaaaaa', id: 'alice', actor: 'alice', spaces: ['team:*'], role: 'x' }];
    const { host } = await project.settings({ MORTISE_API_KEYS: JSON.stringify(keys) });
    expect(host.http.principals).to.deep.equal([
      { key: 'aaaaaaaa', id: 'alice', actor: 'alice', spaces: ['team:*'], claims: { role: 'x' } },
    ]);
    for (const second of [
      { key: 'aaaaaaaa', id: 'bob' },
      { key: 'bbbbbbbb', id: 'alice' },
    ]) {
      const errors = await project.errors({ MORTISE_API_KEYS: JSON.stringify([...keys, second]) });
      expect(errors[0])
        .to.match(/^MORTISE_API_KEYS .* twice/)
        .and.not.contain('aaaaaaaa');
    }
  });

  for (const id of ['local', 'default', 'system']) {
    it(`let no key use the reserved principal ${id}`, async () => {
      const errors = await project.errors({ MORTISE_API_KEYS: JSON.stringify([{ key: 'aaaaaaaa', id }]) });
      expect(errors).to.deep.equal([
        `MORTISE_API_KEYS (http.api_keys) has a principal "${id}", which is the host's own word: choose another id.`,
      ]);
    });
  }

  it('read the rate limits of callers and tools', async () => {
    const { host } = await project.settings({
      MORTISE_RATE_LIMIT: '100/60',
      MORTISE_TOOL_RATE_LIMITS: '{"memory_store":"5/1"}',
    });
    expect(host.http.rateLimit).to.deep.equal({ requests: 100, seconds: 60 });
    expect(host.http.toolRateLimits).to.deep.equal({ memory_store: { requests: 5, seconds: 1 } });
  });

  it('decode the secret key, hex or base64', async () => {
    const hex = 'ab'.repeat(32);
    const base64 = Buffer.from(hex, 'hex').toString('base64');
    for (const text of [hex, base64]) {
      const { secretKey } = (await project.settings({ MORTISE_SECRET_KEY: text })).host;
      expect(secretKey && Buffer.from(secretKey).toString('hex')).to.equal(hex);
    }
  });

  it('mask secrets and pass all their clear values to the log’s filter', async () => {
    const settings = await project.settings({
      MORTISE_API_KEY: 'kanarienvogel-4711',
      MORTISE_API_KEYS: '[{"key":"zaunkoenig-1","id":"alice-the-admin"}]',
      DATABASE_URL: 'postgres://user:rotkehlchen@db/x',
      GOVERNANCE_ADMIN_KEY: 'abc',
    });
    const shown = JSON.stringify(settings.effective());
    for (const secret of ['kanarienvogel', 'zaunkoenig', 'rotkehlchen']) expect(shown).to.not.contain(secret);
    expect(shown).to.contain('"ka***11"').and.to.contain('alice-the-admin').and.to.contain('"***"');
    expect(shown).to.contain('"host.project_key","owner":"host","value":"default"');
    expect(settings.secrets()).to.include.members(['kanarienvogel-4711', 'zaunkoenig-1', 'rotkehlchen']);
    expect(settings.secrets()).to.not.include('alice-the-admin');
  });

  it('report a changed file that needs a restart', async () => {
    const settings = await project.settings();
    await project.write('config/mortise.json', { http: { port: 1234 } });
    await settings.poll();
    expect(settings.host.http.port).to.equal(8088);
    expect(settings.findings().map((finding) => finding.code)).to.deep.equal(['restart_needed']);
  });

  it('list the paths that file tools must not use', async () => {
    const settings = await project.settings();
    const { hidden, readOnly } = settings.serviceFor('tool-files').guardedPaths;
    expect(hidden).to.include.members(
      ['.data', '.env', 'config', 'config/secrets.json'].map((name) => project.path(name)),
    );
    expect(readOnly).to.include.members(['plugins.json', 'plugins', 'dist'].map((name) => project.path(name)));
  });
});

describe('the secrets of a plugin', () => {
  let project: Project;
  beforeEach(async () => {
    project = await Project.make();
  });
  afterEach(() => project.remove());

  it('are those in its manifest, also by a pattern', async () => {
    const settings = await project.settings({ OPENAI_API_KEY: 'a-secret', BLANK_API_KEY: ' ', OTHER: 'x' });
    const seen: string[] = [];
    settings.onSecret((value) => seen.push(value));
    const secrets = settings.secretsFor(['*_API_KEY']);
    expect(secrets.get('OPENAI_API_KEY')).to.equal('a-secret');
    expect(secrets.get('BLANK_API_KEY')).to.equal(undefined);
    expect(() => secrets.get('OTHER'))
      .to.throw('OTHER')
      .with.property('code', 'secret_denied');
    expect(seen).to.deep.equal(['a-secret']);
  });

  it('have names, except those of settings', async () => {
    const settings = await project.settings({
      OPENAI_API_KEY: 'a-secret',
      BLANK_API_KEY: ' ',
      OWNED_API_KEY: 'x',
      OTHER: 'x',
    });
    const properties = { key: { type: 'string', 'x-env': ['OWNED_API_KEY'] } } as const;
    await settings.own('owner', { type: 'object', properties });
    expect(settings.secretsFor(['*_API_KEY']).names()).to.deep.equal(['OPENAI_API_KEY']);
  });

  it('compare in constant time, regardless of their lengths', async () => {
    const { equal } = (await project.settings()).secretsFor([]);
    expect([equal('a', 'a'), equal('a', 'b'), equal('a', 'aa'), equal('', '')]).to.deep.equal([
      true,
      false,
      false,
      true,
    ]);
  });
});
