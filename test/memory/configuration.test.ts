import { expect } from 'chai';
import { answerOf, type Json } from 'mortise/contracts/memory-gateway/testing';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';
import { memoryPlugins } from './memory-host.js';

const plugins = [...memoryPlugins, 'memory-backend-openmemory', 'memory-outbox', 'memory-reconcile'];

/** A property, the variables that set it (the first wins), a valid text, its value, and an invalid text. */
type Row = readonly [property: string, names: readonly string[], text: string, value: unknown, bad?: string];

const rows: readonly Row[] = [
  ['host.project_key', ['MORTISE_PROJECT_KEY', 'PROJECT_KEY'], 'demo', 'demo'],
  [
    'memory-gateway.default_team_space',
    ['MORTISE_DEFAULT_TEAM_SPACE', 'DEFAULT_TEAM_SPACE'],
    'org:all',
    'org:all',
    'nowhere',
  ],
  [
    'memory-gateway.unknown_actor_policy',
    ['MORTISE_UNKNOWN_ACTOR_POLICY', 'UNKNOWN_ACTOR_POLICY'],
    'reject',
    'reject',
    'ask',
  ],
  [
    'memory-gateway.strict_mode_enforce_validate_refs',
    ['MORTISE_STRICT_MODE_ENFORCE_VALIDATE_REFS', 'STRICT_MODE_ENFORCE_VALIDATE_REFS'],
    'off',
    false,
  ],
  ['memory-gateway.validate_evidence_refs', ['MORTISE_VALIDATE_EVIDENCE_REFS', 'VALIDATE_EVIDENCE_REFS'], 'yes', true],
  ['memory-gateway.memory_backend', ['MORTISE_MEMORY_BACKEND'], 'local', 'local', 'Not A Key'],
  ['memory-gateway.store_timeout_ms', ['MORTISE_OPENMEMORY_TIMEOUT_MS'], '4000', 4_000, '0'],
  ['memory-gateway.query_timeout_ms', ['MORTISE_OPENMEMORY_QUERY_TIMEOUT_MS'], '2000', 2_000, 'soon'],
  ['memory-gateway.ledger', ['MORTISE_LEDGER'], 'hash', 'hash', 'none'],
  [
    'memory-backend-openmemory.base_url',
    ['OPENMEMORY_BASE_URL'],
    'http://127.0.0.1:1',
    'http://127.0.0.1:1',
    'ftp://x',
  ],
  ['memory-backend-openmemory.api_key', ['OPENMEMORY_API_KEY', 'OM_API_KEY'], 'a-key-0123456789', undefined],
  ['memory-backend-openmemory.dialect', ['MORTISE_OPENMEMORY_DIALECT'], 'search', 'search', 'latin'],
  [
    'memory-outbox.timeout_seconds',
    ['MORTISE_OPENMEMORY_WORKER_TIMEOUT_SECONDS', 'OPENMEMORY_TIMEOUT_SECONDS'],
    '20',
    20,
    '0',
  ],
  ['memory-outbox.worker', ['MORTISE_OUTBOX_WORKER'], 'off', false],
  ['memory-outbox.batch_size', ['MORTISE_OUTBOX_BATCH_SIZE'], '10', 10, '0'],
  ['memory-outbox.concurrency', ['MORTISE_OUTBOX_CONCURRENCY'], '2', 2, '0'],
  ['memory-outbox.max_retries', ['MORTISE_OUTBOX_MAX_RETRIES'], '3', 3, '-1'],
  ['memory-outbox.base_backoff', ['MORTISE_OUTBOX_BASE_BACKOFF'], '30', 30, '1.5'],
  ['memory-outbox.max_backoff', ['MORTISE_OUTBOX_MAX_BACKOFF'], '600', 600, 'long'],
  ['memory-outbox.lease_seconds', ['MORTISE_OUTBOX_LEASE_SECONDS'], '5', 5, '0'],
  ['memory-outbox.max_age_hours', ['MORTISE_OUTBOX_MAX_AGE_HOURS'], '24', 24, '0'],
  ['memory-reconcile.interval_seconds', ['MORTISE_RECONCILE_INTERVAL_SECONDS'], '0', 0, '-1'],
  [
    'evidence-store.evidence_max_size_bytes',
    ['MORTISE_EVIDENCE_MAX_SIZE_BYTES', 'EVIDENCE_MAX_SIZE_BYTES'],
    '2097152',
    2_097_152,
    '0',
  ],
  [
    'evidence-store.evidence_artifacts_prefix',
    ['MORTISE_EVIDENCE_ARTIFACTS_PREFIX', 'EVIDENCE_ARTIFACTS_PREFIX'],
    'proofs',
    'proofs',
    '../up',
  ],
  ['evidence-store.artifacts_root', ['MORTISE_ARTIFACTS_ROOT'], 'kept', 'kept'],
  ['memory-backend-local.embedder', ['MORTISE_MEMORY_EMBEDDER'], 'probe', 'probe', 'Not A Key'],
  ['mcp-server.tools', ['MORTISE_GATEWAY_TOOLS'], 'shell', ['shell']],
];

const ownerOf = (property: string) => property.slice(0, property.indexOf('.'));

/** The variable at one place in the list of each row that has one. */
const environment = (place: number, textOf: (row: Row) => string | undefined): Record<string, string> =>
  Object.fromEntries(
    rows.flatMap((row) => {
      const [name, text] = [row[1][place], textOf(row)];
      return name === undefined || text === undefined ? [] : [[name, text]];
    }),
  );

describe('the configuration of the memory plugins', () => {
  let host: TestHost | undefined;
  const start = async (env: Readonly<Record<string, string>>): Promise<TestHost> => {
    host = await createTestHost({ plugins, env, listen: false });
    return host;
  };
  afterEach(() => host?.stop());

  const effective = ({ app }: TestHost, property: string) =>
    app.settings.effective(ownerOf(property)).find(({ name }) => name === property);

  for (const [place, what] of [
    [0, 'the names with its prefix'],
    [1, 'the names without a prefix'],
  ] as const) {
    it(`is read from the environment, by ${what}`, async () => {
      const started = await start(environment(place, ([, , text]) => text));
      for (const [property, names, , value] of rows) {
        if (names[place] === undefined) continue;
        const found = effective(started, property);
        expect(found?.origin, property).to.equal(names[place]);
        if (value === undefined) expect(found?.value, property).not.to.contain('0123456789');
        else expect(found?.value, property).to.deep.equal(value);
      }
      for (const row of started.control.list()) expect(row.state, `${row.key}: ${row.message}`).to.not.equal('blocked');
    });
  }

  it('prefers the variables with its prefix', async () => {
    const both = { ...environment(0, ([, , text]) => text), ...environment(1, ([, , , , bad]) => bad) };
    const started = await start(both);
    for (const [property, names] of rows) expect(effective(started, property)?.origin, property).to.equal(names[0]);
  });

  const bad = rows.filter(([, , , , text]) => text !== undefined);
  for (const [property, [name = ''], , , text = ''] of bad) {
    it(`blocks ${ownerOf(property)} for ${name}=${text}, and names the variable`, async () => {
      const started = await start({ [name]: text });
      const row = started.control.list().find(({ key }) => key === ownerOf(property));
      expect(row?.state).to.equal('blocked');
      expect(row?.message).to.contain(name);
      expect(started.control.list().find(({ key }) => key === 'logbook')?.state).to.equal('active');
    });
  }

  it('sets the project: its settings, its team space and its evidence', async () => {
    host = await createTestHost({
      plugins,
      env: { MORTISE_PROJECT_KEY: 'demo', GOVERNANCE_ADMIN_KEY: 'k'.repeat(16) },
    });
    const post = async (path: string, body: Json) => (await answerOf(await (host as TestHost).post(path, body))).body;
    const stored = await post('/memory/store', { payload_md: 'Anywhere.' });
    expect(stored).to.deep.include({ requested_space: 'team:demo', space_written: 'private:unknown' });
    expect((await post('/memory/query', { query: 'x' })).spaces_searched).to.deep.equal(['team:demo']);
    const governed = await post('/governance/settings/update', { admin_key: 'k'.repeat(16), team_write_enabled: true });
    expect(governed.settings).to.deep.include({ project_key: 'demo', team_write_enabled: true });
    const { rows: audits } = await host.service('audit').query({ operation: 'governance_update' });
    expect(audits[0]?.targetSpace).to.equal('governance:demo');
    const uploaded = await post('/mcp', {
      tool: 'evidence_upload',
      arguments: { content: 'x', content_type: 'text/plain' },
    });
    expect(uploaded.ok).to.equal(true);
    const [upload] = (await host.service('audit').query({ operation: 'evidence_upload' })).rows;
    expect(upload?.targetSpace).to.equal('evidence:demo');
  });

  it('sets the space of memories without one', async () => {
    host = await createTestHost({ plugins, env: { DEFAULT_TEAM_SPACE: 'private:inbox' } });
    const { body } = await answerOf(await host.post('/memory/store', { payload_md: 'Anywhere.' }));
    expect(body).to.deep.include({ action: 'allow', space_written: 'private:inbox' });
    const found = await answerOf(await host.post('/memory/query', { query: 'anywhere' }));
    expect(found.body).to.deep.include({ total: 1, spaces_searched: ['private:inbox'] });
  });
});
