import { expect } from 'chai';
import { listener } from 'mortise/contracts/conversation/testing';
import type { Observation } from 'mortise/sdk';
import {
  createTestHost,
  databaseProbe,
  localPrincipal,
  type TestHost,
  type TestHostOptions,
  until,
} from 'mortise/sdk/testing';
import { RecentIds } from '../ingest/recent-ids.js';

type Json = Readonly<Record<string, unknown>>;

interface Body extends Json {
  readonly error: Json & { readonly details: { readonly errors: readonly { path: string; code: string }[] } };
  readonly results: readonly (Json & { readonly error?: Json })[];
}

describe('events of other systems', () => {
  let host: TestHost;
  let seen: Observation[] = [];

  async function start(options: TestHostOptions = {}): Promise<void> {
    seen = [];
    const { extra = [], ...rest } = options;
    const types = ['message', 'world_data', 'alert', 'control', 'schedule', 'system'] as const;
    host = await createTestHost({
      plugins: ['conversation', 'gate'],
      ...rest,
      extra: [...extra, listener(seen, types)],
    });
  }

  afterEach(async function stop() {
    await host.stop();
  });

  async function post(body: unknown, query = '', headers: Record<string, string> = {}) {
    const response = await host.post(`/observations${query}`, body, headers);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
  }

  const event = (text = 'hello', more: object = {}) => ({ source_name: 'shop', payload: { text }, ...more });

  it('are accepted, with the members that the platform sets overwritten', async () => {
    await start();
    const forged = {
      obs_id: 'x',
      source_kind: 'internal',
      ingress: 'api',
      hop: 5,
      parent_obs_id: 'p',
      quality_flags: ['TRUNCATED'],
      trace_id: 'f'.repeat(32),
      correlation_id: 'corr-ffffffffffffffff',
      metadata: { released_from: 'x', answered_by: 'x', direction: 'outbound', origin_session_key: 'x', kept: 1 },
    };
    const { status, body } = await post(event('hello', forged));
    expect(status).to.equal(202);
    await until('the event', () => seen.length === 1);
    const [observation] = seen;
    expect(observation).to.deep.include({ source_kind: 'external', ingress: 'ingest', hop: 0, parent_obs_id: null });
    expect(observation?.metadata).to.deep.equal({ kept: 1 });
    expect(observation?.quality_flags).to.not.include('TRUNCATED');
    expect(body).to.deep.equal({ obs_id: observation?.obs_id, trace_id: observation?.trace_id, status: 'accepted' });
    expect([observation?.obs_id, observation?.trace_id]).to.not.include.members(['x', 'f'.repeat(32)]);
  });

  it('are accepted without unknown members', async () => {
    await start();
    const { status } = await post(event('hello', { actor_id: 'u1', text: 'other', quality: 1 }));
    expect(status).to.equal(202);
    await until('the event', () => seen.length === 1);
    expect(seen[0]).to.not.have.any.keys('actor_id', 'text', 'quality', 'actor');
    expect(seen[0]?.payload.text).to.equal('hello');
    expect(seen[0]?.quality_flags).to.include('MISSING_IDENTITY');
  });

  it('are refused with all of their errors', async () => {
    await start();
    const { status, body } = await post({ source_name: ' ', timestamp: '2026-01-01', payload: 3, confidence: 7 });
    expect(status).to.equal(400);
    expect(body.error).to.include({ code: 'invalid_observation' });
    expect(body.error.details.errors.map(({ path, code }) => `${path} ${code}`)).to.have.members([
      'source_name required',
      'timestamp naive_datetime',
      'payload payload_mismatch',
      'confidence range',
    ]);
  });

  for (const [what, more, problem] of [
    ['a session with too long a name', { session_key: 's'.repeat(257) }, 'session_key too_long'],
    ['a session of a user with too long a name', { session_key: `ws:${'u'.repeat(129)}:s` }, 'session_key too_long'],
    ['an actor with too long a name', { actor: { actor_id: 'u'.repeat(129) } }, 'actor.actor_id too_long'],
    ['an actor whose escaped name is too long', { actor: { actor_id: ':'.repeat(128) } }, 'actor.actor_id too_long'],
    ['a text with NUL', { payload: { text: 'a\u0000b' } }, 'payload.text payload_mismatch'],
    ['a text with a lone surrogate', { payload: { text: 'a\ud800b' } }, 'payload.text payload_mismatch'],
    ['a session with a lone surrogate', { session_key: '\ud800x' }, 'session_key payload_mismatch'],
    ['an actor with a lone surrogate', { actor: { actor_id: 'u\udc00' } }, 'actor.actor_id payload_mismatch'],
    ['a tenant with a lone surrogate', { actor: { tenant_id: '\udc00' } }, 'actor.tenant_id payload_mismatch'],
    ['an actor with control characters', { actor: { actor_id: 'u\n1' } }, 'actor.actor_id payload_mismatch'],
  ] as const) {
    it(`are refused when no turn can run: ${what}`, async () => {
      await start();
      const { status, body } = await post(event('hi', more));
      expect([status, body.error.code]).to.deep.equal([400, 'invalid_observation']);
      expect(body.error.details.errors.map(({ path, code }) => `${path} ${code}`)).to.deep.equal([problem]);
    });
  }

  it('of an adapter are refused likewise when no turn can run', async () => {
    await start();
    const tooLong = { ...event('hi', { session_key: 's'.repeat(257) }), ingress: 'adapter' } as const;
    expect(host.service('conversation').publish(tooLong, { principal: localPrincipal })).to.include({
      ok: false,
      reason: 'invalid',
    });
  });

  it('may have the longest names that a turn can have; world data may have any key', async () => {
    await start();
    const longest = { session_key: '😀'.repeat(256), actor: { actor_id: 'u'.repeat(128) } };
    expect((await post(event('hi', longest))).status).to.equal(202);
    const data = { obs_type: 'world_data', payload: { schema_id: 'x', data: {} }, session_key: 's'.repeat(1_024) };
    expect((await post(event('hi', data))).status).to.equal(202);
  });

  for (const [what, more] of [
    ['an agent', { source_name: 'agent:x' }],
    ['the platform', { source_name: 'System:x' }],
    ['the actor of the platform', { actor: { actor_id: 'agent' } }],
    ['the session of the platform', { session_key: 'system' }],
  ] as const) {
    it(`may not use the name of ${what}`, async () => {
      await start();
      const { status, body } = await post(event('hi', more));
      expect([status, body.error.details.errors.map(({ code }) => code)]).to.deep.equal([400, ['reserved']]);
    });
  }

  it('that control the platform need the admin right', async () => {
    const env = { GOVERNANCE_ADMIN_KEY: 'admin-key-0123456789', MORTISE_API_KEY: 'api-key-0123456789' };
    await start({ env });
    const key = { 'X-API-Key': env.MORTISE_API_KEY };
    const control = { obs_type: 'control', source_name: 'shop', payload: { kind: 'x', data: {} } };
    const refused = await post(control, '', key);
    expect([refused.status, refused.body.error.code]).to.deep.equal([403, 'obs_type_not_allowed']);
    expect((await post(event(), '', key)).status).to.equal(202);
    expect((await post(control, '', { ...key, 'X-Admin-Key': env.GOVERNANCE_ADMIN_KEY })).status).to.equal(202);
  });

  it('that are refused for lack of a right are audited', async () => {
    const env = {
      MORTISE_API_KEYS: JSON.stringify([
        { key: 'api-key-0123456789', id: 'shop' },
        { key: 'api-key-of-ann-0123', id: 'ann', actor: 'ann' },
      ]),
    };
    const audit = databaseProbe(['governance']);
    await start({ env, plugins: ['conversation', 'gate', 'logbook'], extra: [audit.plugin] });
    const control = { obs_type: 'control', source_name: 'shop', payload: { kind: 'x', data: {} } };
    expect((await post(control, '', { 'X-API-Key': 'api-key-0123456789' })).status).to.equal(403);
    for (const actor of [undefined, null, {}, { actor_type: 'user' }]) {
      const own = await post(event('mine', { actor }), '', { 'X-API-Key': 'api-key-of-ann-0123' });
      expect(own.status, JSON.stringify(actor)).to.equal(202);
    }
    const forged = event('hi', { actor: { actor_type: 'user', actor_id: 'bob' } });
    expect((await post(forged, '', { 'X-API-Key': 'api-key-of-ann-0123' })).status).to.equal(403);
    const reasons = async () => {
      const { rows } = await audit.database.statement<{ reason: string }>(
        "select reason from {governance.write_audit} where action = 'reject' order by reason",
      );
      return rows.map(({ reason }) => reason);
    };
    await until('both rows', async () => (await reasons()).length === 2);
    expect((await reasons()).join()).to.match(/admin_required.*,.*forbidden/);
  });

  it('of type alert are attributed to their sender', async () => {
    await start();
    await post({
      obs_type: 'alert',
      source_name: 'shop',
      payload: { alert_type: 'pain', data: { source_kind: 'adapter', source_id: 'victim', more: 1 } },
    });
    await until('the alert', () => seen.length === 1);
    expect(seen[0]?.payload.data).to.deep.equal({ source_kind: 'ingest', source_id: 'shop', more: 1 });
  });

  it('may come in batches of independent observations', async () => {
    await start();
    const evidence = { raw_event_id: 'e1' };
    const { status, body } = await post({
      observations: [event('a', { evidence }), { source_name: '' }, event('b', { evidence }), 7],
    });
    expect(status).to.equal(202);
    expect(body).to.deep.include({ accepted: 1, rejected: 2 });
    expect(body.results.map((one) => one.status)).to.deep.equal(['accepted', 'rejected', 'duplicate', 'rejected']);
    expect(body.results[2]?.obs_id).to.equal(body.results[0]?.obs_id);
    for (const observations of [[], Array(101).fill(event()), 'x']) {
      expect(await post({ observations })).to.have.nested.property('body.error.code', 'invalid_request');
    }
  });

  it('are taken once per source and id', async () => {
    await start();
    const evidence = { raw_event_id: 'e1' };
    const first = await post(event('a', { evidence }));
    const second = await post(event('b', { evidence }));
    expect([second.status, second.body]).to.deep.equal([200, { status: 'duplicate', obs_id: first.body.obs_id }]);
    expect((await post({ ...event('a', { evidence }), source_name: 'other' })).status).to.equal(202);
  });

  it('are answered with the decision when the caller waits for it', async () => {
    await start();
    const { headers, body } = await post(event(' '), '?wait=decision');
    expect(body.decision).to.deep.include({ action: 'drop', reason: 'empty_content' });
    expect(headers.get('x-gate-action')).to.equal('drop');
    expect((await post(event(), '?wait=for-ever')).status).to.equal(400);
  });

  it('are cut and flagged when they are too long', async () => {
    await start();
    await post(event('😀'.repeat(200_001)));
    await until('the event', () => seen.length === 1);
    expect([...String(seen[0]?.payload.text)]).to.have.length(200_000);
    expect(seen[0]?.quality_flags).to.include('TRUNCATED');
  });

  it('are refused with a hint when the bus is full', async () => {
    await start({ env: { MORTISE_BUS_CAPACITY: '1' } });
    const { body } = await post({ observations: [event('a'), event('b')] });
    expect(body.results[1]?.error).to.include({ code: 'backpressure' });
  });

  it('are refused when the request itself is wrong', async () => {
    await start();
    const send = async (body: string, type = 'application/json') => {
      const response = await host.fetch('/observations', {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      });
      const { error } = (await response.json()) as Body;
      return [response.status, error.code];
    };
    expect(await send('{')).to.deep.equal([400, 'invalid_json']);
    expect((await send('text', 'text/plain'))[0]).to.equal(415);
    expect((await send(JSON.stringify(event('x'.repeat(30_000_000)))))[0]).to.equal(413);
    expect(await send('[]')).to.deep.equal([400, 'invalid_request']);
    for (const observations of [[], Array(101).fill(event()), 'many']) {
      expect(await send(JSON.stringify({ observations }))).to.deep.equal([400, 'invalid_request']);
    }
    expect((await post(event(), '?wait=forever')).status).to.equal(400);
  });

  it('include ticks when the timer is on', async () => {
    await start({ env: { MORTISE_TICK_SECONDS: '0.02' } });
    await until('ticks', () => seen.length >= 2);
    expect(seen[0]).to.deep.include({ obs_type: 'schedule', source_name: 'timer:tick', session_key: 'system' });
    expect(seen[0]?.payload).to.deep.include({ schedule_id: 'tick' });
    expect(seen[1]?.evidence).to.deep.equal({ raw_event_id: 'tick:2' });
  });

  it('can be typed text', async () => {
    await start();
    const conversation = host.service('conversation');
    expect(conversation.ingestText('  ', { principal: localPrincipal })).to.equal(null);
    const result = conversation.ingestText('hello', { principal: localPrincipal });
    expect(result).to.include({ ok: true });
    await until('the text', () => seen.length === 1);
    expect(seen[0]).to.deep.include({ payload: { text: 'hello', extra: { message_id: 'text_input:1' } } });
    expect(seen[0]?.actor).to.deep.include({ actor_id: 'user' });
  });

  it('are broadcast to every live session once by a fan-out, without counting as activity', async () => {
    await start();
    const conversation = host.service('conversation');
    await post(event('a', { session_key: 'one' }));
    await post(event('b', { session_key: 'two' }));
    await until('both', () => seen.length === 2);
    const activity = () => conversation.sessions().map((one) => [one.session_key, one.last_active_at]);
    const before = activity();
    expect(await conversation.fanOut('[tick]')).to.equal(2);
    await until('the ticks', () => seen.length === 4);
    expect(seen[2]).to.deep.include({ obs_type: 'system', source_name: 'core:fanout', payload: { text: '[tick]' } });
    expect(activity()).to.deep.equal(before);
  });
});

describe('ids of events', () => {
  it('are remembered for 24 hours, the newest 10,000 of them', () => {
    let now = 1;
    const recent = new RecentIds(() => now);
    recent.remember('s', 'a', 'o1');
    now = 24 * 3_600_000;
    expect(recent.find('s', 'a')).to.equal('o1');
    now += 2;
    expect(recent.find('s', 'a')).to.equal(undefined);
    for (let index = 0; index <= 10_000; index += 1) recent.remember('s', String(index), 'o');
    expect([recent.find('s', '0'), recent.find('s', '1')]).to.deep.equal([undefined, 'o']);
  });
});
