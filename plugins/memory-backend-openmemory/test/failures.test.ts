import { expect } from 'chai';
import type { FakeFault } from 'mortise/contracts/memory-backend-openmemory/testing';
import type { Alert, BackendFailure } from 'mortise/sdk';
import { failureOf, item, openSubject, type Subject } from './support.js';

type Details = BackendFailure['details'];

/** The fault of a store and the failure that its caller must get. */
type Case = readonly [FakeFault, Details['class'], Details['applied'], NonNullable<Details['problem']>, string];

const stores: readonly Case[] = [
  ...([408, 423, 425, 429, 503] as const).map((status) => waits(status, 'no')),
  ...([502, 504] as const).map((status) => waits(status, 'unknown')),
  ...([401, 403, 404, 405, 407] as const).map((status) => waits(status, 'no')),
  fails(500, 'unknown'),
  fails(501, 'no'),
  fails(507, 'no'),
  fails(301, 'no'),
  fails(302, 'no'),
  fails(307, 'no'),
  ...([400, 402, 406, 409, 410, 413, 415, 418, 422] as const).map(refuses),
  [{ kind: 'hang' }, 'unavailable', 'unknown', 'timeout', 'OpenMemory request timed out'],
  [{ kind: 'hang', apply: true }, 'unavailable', 'unknown', 'timeout', 'OpenMemory request timed out'],
  [{ kind: 'slow', ms: 2_000 }, 'unavailable', 'unknown', 'timeout', 'OpenMemory request timed out'],
  [{ kind: 'reset' }, 'unavailable', 'unknown', 'connection_error', 'OpenMemory connection failed: ECONNRESET'],
  [
    { kind: 'reset', apply: true },
    'unavailable',
    'unknown',
    'connection_error',
    'OpenMemory connection failed: ECONNRESET',
  ],
  [{ kind: 'truncate' }, 'unavailable', 'unknown', 'connection_error', 'OpenMemory connection failed: UND_ERR_SOCKET'],
  invalid({ kind: 'malformed' }, 'not JSON'),
  invalid({ kind: 'missing-id' }, 'no id'),
  invalid({ kind: 'oversized', bytes: 8 * 1_048_576 }, 'larger than 8 MiB'),
  [{ kind: 'success-false' }, 'failure', 'no', 'invalid_response', 'OpenMemory reported a failure'],
];

function waits(status: number, applied: Details['applied']): Case {
  return [{ kind: 'status', status }, 'unavailable', applied, `api_error_${status}`, `OpenMemory API error: ${status}`];
}

function refuses(status: number): Case {
  return [{ kind: 'status', status }, 'permanent', 'no', `api_error_${status}`, `OpenMemory API error: ${status}`];
}

function fails(status: number, applied: Details['applied']): Case {
  const fault: FakeFault = { kind: 'status', status, location: 'http://127.0.0.1:1/elsewhere' };
  return [fault, 'failure', applied, `api_error_${status}`, `OpenMemory API error: ${status}`];
}

function invalid(fault: FakeFault, why: string): Case {
  return [fault, 'failure', 'unknown', 'invalid_response', `OpenMemory returned an invalid response: ${why}`];
}

describe('failures of a store', () => {
  let subject: Subject;
  before(async () => {
    subject = await openSubject({ env: { MORTISE_OPENMEMORY_DIALECT: 'query' } });
  });
  after(() => subject.stop());
  afterEach(() => subject.server.clearFaults());

  for (const [fault, kind, applied, problem, message] of stores) {
    it(`${JSON.stringify(fault)} is ${kind}`, async () => {
      subject.server.failAlways('add', fault);
      const timeoutMs = fault.kind === 'hang' || fault.kind === 'slow' ? 300 : 5_000;
      const failure = await failureOf(subject.store({}, timeoutMs));
      expect(failure).to.deep.include({ class: kind, applied, problem, message });
      expect(failure.status).to.equal(fault.kind === 'status' ? fault.status : undefined);
    });
  }

  for (const id of ['om\u0000', '\ud800', '', null, {}, true]) {
    it(`an id that a database cannot store, such as ${JSON.stringify(id)}, is invalid`, async () => {
      subject.server.fail('add', { kind: 'status', status: 200, body: { id } });
      const failure = await failureOf(subject.store({}));
      expect(failure).to.deep.include({ class: 'failure', applied: 'unknown', problem: 'invalid_response' });
    });
  }

  const inAMinute = () => new Date(Date.now() + 60_000).toUTCString();
  const aMinuteAgo = () => new Date(Date.now() - 60_000).toUTCString();
  const waitsOf: readonly [string, () => string, (ms: number | undefined) => boolean][] = [
    ['seconds', () => '7', (ms) => ms === 7_000],
    ['zero seconds', () => '0', (ms) => ms === 0],
    ['a future date', inAMinute, (ms) => ms !== undefined && ms > 30_000 && ms <= 60_000],
    ['a past date', aMinuteAgo, (ms) => ms === 0],
    ['years', () => '999999999', (ms) => ms === 86_400_000],
    ['other text', () => 'soon', (ms) => ms === undefined],
  ];
  for (const [what, retryAfter, isRight] of waitsOf) {
    it(`a Retry-After of ${what} is read`, async () => {
      subject.server.fail('add', { kind: 'status', status: 429, retryAfter: retryAfter() });
      const { retryAfterMs } = await failureOf(subject.store());
      expect(retryAfterMs, String(retryAfterMs)).to.satisfy(isRight);
    });
  }

  it('a text that is too long is refused without a request', async () => {
    const before = subject.server.requests.length;
    const failure = await failureOf(subject.store({ content: '😀'.repeat(200_001) }));
    expect(failure).to.deep.include({ class: 'permanent', applied: 'no', problem: 'content_too_long' });
    expect(subject.server.requests).to.have.length(before);
    expect((await subject.store({ content: '😀'.repeat(200_000) })).id).to.match(/^om-/);
  });

  it('a failed read was never applied', async () => {
    for (const fault of [{ kind: 'reset' }, { kind: 'status', status: 500 }, { kind: 'truncate' }] as const) {
      subject.server.fail('search', fault);
      const search = { query: 'q', spaces: ['team:a'], filters: {}, limit: 5 };
      const failure = await failureOf(subject.call((backend, ctx) => backend.search(search, ctx)));
      expect(failure.applied, fault.kind).to.equal('no');
    }
  });

  it('a 404 without a JSON object is not a missing memory', async () => {
    const { id } = await subject.store();
    subject.server.fail('get', { kind: 'status', status: 404, body: '<h1>Not Found</h1>' });
    const read = (wanted: string) => subject.call((backend, ctx) => backend.get?.(wanted, ctx));
    const failed = await failureOf(read(id));
    expect([failed.message, failed.class]).to.deep.equal(['OpenMemory API error: 404', 'unavailable']);
    expect(await read('om-none')).to.equal(null);
    expect(await read(id)).to.include({ id });
  });

  it('a response without hits is a failure', async () => {
    for (const body of [{}, { matches: {} }, { success: false, matches: [] }, []]) {
      subject.server.fail('search', { kind: 'status', status: 200, body });
      const search = { query: 'q', spaces: ['team:a'], filters: {}, limit: 5 };
      const failure = await failureOf(subject.call((backend, ctx) => backend.search(search, ctx)));
      expect(failure).to.deep.include({ class: 'failure', problem: 'invalid_response' });
    }
  });

  it('invalid hits are dropped, and scores are limited to 0 to 1', async () => {
    const good = { id: 7, content: 'text' };
    const hits = [
      good,
      { ...good, score: 9 },
      { ...good, score: 'x' },
      { id: '', content: 'a' },
      { id: 'a' },
      null,
      'x',
    ];
    subject.server.fail('search', { kind: 'hits', hits: hits as object[] });
    const search = { query: 'q', spaces: ['team:a'], filters: {}, limit: 50 };
    const found = await subject.call((backend, ctx) => backend.search(search, ctx));
    expect(found.hits.map(({ id, score }) => [id, score])).to.deep.equal([
      ['7', 0],
      ['7', 1],
      ['7', 0],
    ]);
  });

  it('a find that times out is a failure', async () => {
    subject.server.failAlways('any', { kind: 'hang' });
    const failure = await failureOf(subject.call((backend, ctx) => backend.find?.(item(), ctx), 300));
    expect(failure).to.deep.include({ class: 'unavailable', applied: 'no', problem: 'timeout' });
  });
});

describe('a server that cannot be used', () => {
  let subject: Subject | undefined;
  afterEach(() => subject?.stop());

  it('that is down is reported, and nothing was applied', async () => {
    subject = await openSubject();
    await subject.server.stop();
    expect(await failureOf(subject.store())).to.deep.include({
      class: 'unavailable',
      applied: 'no',
      problem: 'connection_error',
      message: 'OpenMemory connection failed: ECONNREFUSED',
    });
    await subject.server.start();
    expect((await subject.store()).id).to.equal('om-1');
  });

  it('without an address is reported', async () => {
    subject = await openSubject({ env: { OPENMEMORY_BASE_URL: '' } });
    expect(await failureOf(subject.store())).to.deep.include({ class: 'unavailable', applied: 'no' });
    expect(subject.server.requests).to.deep.equal([]);
  });

  it('raises one alert for a wrong key, and another only after a success', async () => {
    subject = await openSubject({ apiKey: 'right', env: { OPENMEMORY_API_KEY: 'wrong-secret' } });
    const alerts: Alert[] = [];
    subject.host.app.kernel.events.on('alert', (alert) => void alerts.push(alert));
    await failureOf(subject.store());
    await failureOf(subject.store());
    expect(alerts).to.have.length(1);
    expect(alerts[0]).to.deep.include({ code: 'memory_backend.misconfigured', severity: 'high' });
    const output = JSON.stringify([alerts, subject.host.logs]);
    expect(output).to.not.contain('wrong-secret');
    expect(output).to.not.contain('Tuesdays');
  });

  for (const url of ['ftp://example.org', 'http://user:pass@example.org', 'http://', 'example.org', 'http://a b']) {
    it(`with the address ${url} blocks the plugin, with a message that names the variable`, async () => {
      subject = await openSubject({ env: { OPENMEMORY_BASE_URL: url } });
      const row = subject.host.control.list().find(({ key }) => key === 'memory-backend-openmemory');
      expect(row).to.deep.include({ state: 'blocked', code: 'invalid_config' });
      expect(row?.message).to.contain('OPENMEMORY_BASE_URL');
    });
  }

  it('with an unknown dialect blocks the plugin', async () => {
    subject = await openSubject({ env: { MORTISE_OPENMEMORY_DIALECT: 'sql' } });
    const row = subject.host.control.list().find(({ key }) => key === 'memory-backend-openmemory');
    expect(row?.message).to.contain('MORTISE_OPENMEMORY_DIALECT');
  });

  it('is called below the path of its address', async () => {
    subject = await openSubject();
    const { origin } = subject.server;
    await subject.host.stop();
    const other = await openSubject({ env: { OPENMEMORY_BASE_URL: `${origin}/below/` } });
    expect((await failureOf(other.store())).message).to.equal('OpenMemory API error: 404');
    expect(subject.server.requests[0]?.path).to.equal('/below/health');
    await other.stop();
  });
});
