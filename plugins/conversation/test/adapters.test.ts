import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { InputAdapter, InputAdapterFacts } from 'mortise/contracts/conversation';
import { listener } from 'mortise/contracts/conversation/testing';
import type { Observation, ObservationInput } from 'mortise/sdk';
import {
  contributing,
  createTestHost,
  localPrincipal,
  type TestHost,
  type TestHostOptions,
  type TestPlugin,
  until,
} from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;
type Publish = Parameters<InputAdapter['start']>[0];

const types = ['message', 'alert'] as const;

describe('an input adapter', () => {
  let host: TestHost;
  let seen: Observation[] = [];
  let publish: Publish;

  beforeEach(() => {
    seen = [];
    publish = () => ({ ok: false });
  });

  afterEach(async function stop() {
    await host.stop();
  });

  function adapter(key: string, parts: Partial<InputAdapter> = {}, facts: InputAdapterFacts = {}): TestPlugin {
    const whole: InputAdapter = {
      ...facts,
      start: async (given) => {
        publish = given;
      },
      stop: async () => undefined,
      ...parts,
    };
    const plugin = contributing('input-adapter', key, facts, whole, `adapter-${key}`);
    return { ...plugin, manifest: { ...plugin.manifest, optional: ['conversation'] } };
  }

  async function start(plugin: TestPlugin, options: TestHostOptions = {}): Promise<void> {
    host = await createTestHost({
      plugins: ['conversation'],
      listen: false,
      ...options,
      extra: [listener(seen, types), plugin],
    });
  }

  const event = (text = 'hello', more: object = {}) => ({ source_name: 'shop', payload: { text }, ...more });
  const texts = () => seen.flatMap(({ obs_type, payload }) => (obs_type === 'message' ? [payload.text] : []));
  const alerts = () => seen.filter(({ obs_type }) => obs_type === 'alert').map(({ payload }) => payload);
  const alert = async (type: string): Promise<Json> => {
    await until(type, () => alerts().some(({ alert_type }) => alert_type === type));
    const { severity, data } = alerts().find(({ alert_type }) => alert_type === type) ?? {};
    return { severity, ...(data as Json) };
  };
  const started = () => until('the start', () => publish(event('first')).ok);
  const trigger = (key: string) => host.service('conversation').trigger(key, { reason: 'test', context: { a: 1 } });

  it('publishes while it runs, and not after it is disabled', async () => {
    await start(adapter('good'));
    await started();
    await until('the event', () => seen.length === 1);
    expect(seen[0]).to.include({ ingress: 'adapter', source_kind: 'external' });
    await host.control.disable('adapter-good');
    await until('the end', () => !publish(event('b')).ok);
    expect(publish(event('c'))).to.deep.equal({ ok: false, reason: 'closed' });
  });

  it('that cannot be started raises an alert without the error text, and does not affect the others', async () => {
    await start(adapter('broken', { start: () => Promise.reject(new Error('canary')) }));
    expect(await alert('adapter_start_error')).to.include({
      severity: 'high',
      adapter: 'broken',
      source_kind: 'adapter',
      source_id: 'broken',
      consecutive_failures: 1,
      error_type: 'Error',
    });
    expect(host.service('conversation').publish(event(), { principal: localPrincipal })).to.include({ ok: true });
    expect(JSON.stringify(alerts()) + host.logs.join('\n')).to.not.contain('canary');
  });

  it('that cannot be stopped raises an alert', async () => {
    const raised: string[] = [];
    await start(adapter('stuck', { stop: () => Promise.reject(new Error('no')) }));
    host.app.kernel.events.on('alert', ({ code, severity }) => raised.push(`${code} ${severity}`));
    await started();
    await host.control.disable('conversation', { cascade: true });
    expect(raised).to.include('adapter_stop_error medium');
  });

  const fail = (): never => {
    throw new Error('canary');
  };
  const traps = { get: fail, ownKeys: fail, has: fail, getOwnPropertyDescriptor: fail, getPrototypeOf: fail };
  const gone = Proxy.revocable({}, {});
  gone.revoke();
  const hostile: readonly [string, object][] = [
    [
      'a text that throws',
      { source_name: 'x', payload: Object.defineProperty({}, 'text', { enumerable: true, get: fail }) },
    ],
    ['a payload that throws', Object.defineProperty({ source_name: 'x' }, 'payload', { enumerable: true, get: fail })],
    ['a source that throws', Object.defineProperty({ payload: {} }, 'source_name', { enumerable: true, get: fail })],
    ['an object that throws on every access', new Proxy({}, traps)],
    ['a revoked proxy', gone.proxy],
  ];
  for (const [what, given] of hostile) {
    it(`that publishes ${what} gets the reason, as does a direct publish`, async () => {
      await start(adapter('hostile', {}, { dedup: true }));
      await started();
      expect(publish(given)).to.deep.equal({ ok: false, reason: 'unreadable' });
      expect(await alert('adapter_parse_error')).to.include({ adapter: 'hostile', consecutive_failures: 1 });
      const conversation = host.service('conversation');
      const refused = { ok: false, dropped: true, reason: 'invalid' };
      expect(conversation.publish(given as ObservationInput, { principal: localPrincipal })).to.include(refused);
      expect(conversation.preview(given as ObservationInput)).to.include(refused);
      expect(await conversation.publishOrWait(given as ObservationInput, { principal: localPrincipal })).to.include(
        refused,
      );
      expect(JSON.stringify(alerts()) + host.logs.join('\n')).to.not.contain('canary');
      expect(publish(event('after'))).to.deep.equal({ ok: true });
    });
  }

  it('that publishes invalid events raises alerts with the number of consecutive failures, member names and no values', async () => {
    await start(adapter('sloppy'));
    await until('the start', () => publish({ text: 'canary' }).reason === 'invalid');
    expect(publish('canary')).to.deep.equal({ ok: false, reason: 'invalid' });
    await until('both', () => alerts().length === 2);
    const [first, second] = alerts().map(({ data }) => data as Json);
    expect(first).to.deep.include({ adapter: 'sloppy', names: ['text'], consecutive_failures: 1 });
    expect(second).to.deep.include({ names: [], consecutive_failures: 2 });
    publish(event());
    publish({});
    await until('a third', () => alerts().length === 3);
    expect(alerts()[2]?.data).to.include({ consecutive_failures: 1 });
    await sleep(10);
    expect(JSON.stringify(alerts()) + host.logs.join('\n')).to.not.contain('canary');
  });

  it('may convert raw events itself; an event that it cannot read costs only that event', async () => {
    await start(
      adapter('raw', {
        toObservation: (raw) => {
          const { say } = raw as { say: string };
          if (say === 'canary') throw new TypeError('canary');
          return say === '' ? null : event(say);
        },
      }),
    );
    await until('the start', () => publish({ say: 'one' }).ok);
    expect(publish({ say: '' })).to.deep.equal({ ok: false, reason: 'ignored' });
    expect(
      publish({ say: 'canary', ...Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`n${n}`, n])) }),
    ).to.deep.equal({ ok: false, reason: 'unreadable' });
    expect(publish({ say: 'two' })).to.deep.equal({ ok: true });
    const data = await alert('adapter_parse_error');
    expect(data).to.include({ severity: 'medium', adapter: 'raw', error_type: 'TypeError' });
    expect(data.names).to.have.length(50);
    await until('both', () => texts().length === 2);
    expect(texts()).to.deep.equal(['one', 'two']);
    expect(JSON.stringify(alerts()) + host.logs.join('\n')).to.not.contain('canary');
  });

  it('may drop repeated events by their ids', async () => {
    await start(adapter('ids', {}, { dedup: true }));
    await started();
    const same = event('x', { evidence: { raw_event_id: 'e1' } });
    expect([publish(same), publish(same)]).to.deep.equal([{ ok: true }, { ok: false, reason: 'duplicate' }]);
    expect([publish(event('y')), publish(event('y'))]).to.deep.equal([{ ok: true }, { ok: true }]);
  });

  it('has long texts cut and flagged', async () => {
    await start(adapter('long'));
    await until('the start', () => publish(event('😀'.repeat(200_001))).ok);
    await until('the event', () => seen.length === 1);
    expect([...String(seen[0]?.payload.text)]).to.have.length(200_000);
    expect(seen[0]?.quality_flags).to.include('TRUNCATED');
  });

  it('that is active is called when triggered, at most once per interval, and raises an alert when it fails', async () => {
    const asked: unknown[] = [];
    let fails = false;
    await start(
      adapter(
        'active',
        {
          observe: async (request) => {
            asked.push(request);
            if (fails) throw new RangeError('canary');
            return [event('a'), event('b'), {}];
          },
        },
        { minIntervalMs: 500 },
      ),
    );
    await started();
    expect(await trigger('active')).to.deep.equal({ ok: true, taken: 2, refused: 1 });
    expect(await trigger('active')).to.deep.equal({ ok: false, reason: 'too_soon' });
    expect(asked).to.deep.equal([{ reason: 'test', context: { a: 1 } }]);
    fails = true;
    await until('the time', async () => (await trigger('active')).ok === false && asked.length === 2);
    expect(await alert('adapter_observe_error')).to.include({ severity: 'medium', error_type: 'RangeError' });
    expect(await trigger('unknown')).to.deep.equal({ ok: false, reason: 'unknown' });
    host.service('conversation').coolDown({ adapter: 'active', until: Number.POSITIVE_INFINITY, reason: 'test' });
    expect(await trigger('active')).to.deep.equal({ ok: false, reason: 'cooling_down' });
    expect(publish(event())).to.deep.equal({ ok: false, reason: 'adapter_cooldown' });
  });

  it('without observe cannot be triggered', async () => {
    await start(adapter('passive'));
    await started();
    expect(await trigger('passive')).to.deep.equal({ ok: false, reason: 'not_active' });
  });

  it('raises one alert a minute while the bus is full, instead of the bus itself', async () => {
    await start(adapter('eager'), { env: { MORTISE_BUS_CAPACITY: '1' } });
    await started();
    await until('the first', () => texts().length === 1);
    const answers = ['a', 'b', 'c'].map((text) => publish(event(text)));
    expect(answers).to.deep.equal([{ ok: true }, ...Array(2).fill({ ok: false, reason: 'queue_full' })]);
    expect(await alert('input_bus_backpressure')).to.include({ adapter: 'eager', severity: 'medium' });
    expect(alerts()).to.have.length(1);
  });
});
