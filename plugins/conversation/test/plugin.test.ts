import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { GateService } from 'mortise/contracts/gate';
import type { CallContext, Observation, ObservationInput, ObservationType, Points, Principal } from 'mortise/sdk';
import {
  contributing,
  createTestHost,
  localPrincipal,
  type TestHost,
  type TestPlugin,
  until,
} from 'mortise/sdk/testing';
import { handlerTable } from '../handler-table.js';
import { message, patient } from './fixture.js';

type Handle = (observation: Observation, ctx: CallContext) => Promise<unknown>;

/** A plugin that handles observations of some types. */
function handler(types: readonly ObservationType[], handle: Handle, limit: { timeoutMs?: number } = {}): TestPlugin {
  return contributing('observation-handler', 'test', { types, ...limit }, { handle }, 'test-handler');
}

const gate: GateService = {
  handle: (observation, { sessionKey }) => ({
    decision: {
      action: 'sink',
      reason: 'threshold_sink',
      reasons: ['threshold_sink'],
      scene: 'dialogue',
      session_key: sessionKey,
      trace_id: observation.trace_id,
    },
    emit: [],
    ingest: [],
  }),
  ingest: () => undefined,
};

const gatePlugin: TestPlugin = {
  manifest: { key: 'gate', provides: ['gate'] },
  definition: {
    key: 'gate',
    register: (host) => host.provide('gate', gate),
  },
};

describe('the plugin conversation', () => {
  let host: TestHost | undefined;

  afterEach(async function stop() {
    await host?.stop();
    host = undefined;
  });

  async function start(...extra: TestPlugin[]): Promise<TestHost> {
    host = await createTestHost({ plugins: ['conversation'], extra, listen: false });
    return host;
  }

  it('turns alerts of the host into observations', async () => {
    const seen: Observation[] = [];
    const { app } = await start(
      handler(['alert'], async (observation) => {
        seen.push(observation);
      }),
    );
    app.kernel.events.emit('alert', { source: 'plugin:x', severity: 'high', code: 'oops', message: 'It broke.' });
    await until('the alert', () => seen.length === 1);
    expect(seen[0]).to.deep.include({
      obs_type: 'alert',
      source_name: 'plugin:x',
      session_key: 'system',
      payload: { alert_type: 'oops', severity: 'high', message: 'It broke.', data: {} },
    });
  });

  it('stops in time though an egress adapter hangs, and logs and counts what it did not send', async () => {
    let counted = '';
    const hanging: TestPlugin = {
      manifest: {
        key: 'hanging',
        requires: ['conversation'],
        contributes: { egress: [{ key: 'hanging', facts: { default: true } }] },
      },
      definition: {
        key: 'hanging',
        register(own) {
          own.contribute('egress', 'hanging', {
            default: true,
            timeoutMs: 30_000,
            send: (_, { signal }) =>
              new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
          });
        },
        // Between the end of what was accepted and that of the plugins below.
        stop: async () => {
          counted = (await host?.app.metrics.render()) ?? '';
        },
      },
    };
    const env = { MORTISE_EGRESS_DRAIN_MS: '50' };
    const opened = await createTestHost({ plugins: ['conversation'], extra: [hanging], env, listen: false });
    host = opened;
    const obsIds = ['0', '1', '2', '3', '4'].map((text) => {
      const said = opened
        .service('conversation')
        .publish({ ...message(text), source_name: 'agent:speaker' }, { principal: localPrincipal });
      return said.ok ? said.observation.obs_id : undefined;
    });
    const depth = () =>
      opened
        .service('conversation')
        .egress()
        .find(({ adapter }) => adapter === 'hanging')?.depth;
    await until('the queue', () => depth() === 4);
    await opened.stop();
    const lines = opened.logs.filter((line) => line.includes('not sent before the stop'));
    expect(lines).to.have.length(1);
    // The adapter has received the first one: whether it was sent is unknown.
    const [unconfirmed_obs_id, ...obs_ids] = obsIds;
    const named = { level: 'warn', adapter: 'hanging', obs_ids, unconfirmed_obs_id };
    expect(JSON.parse(lines[0] ?? '{}')).to.deep.include(named);
    expect(counted).to.match(/mortise_egress_undelivered_total\{[^}]*adapter="hanging"[^}]*\} 5/);
  });

  it('raises one alert for many faults of a session, and does not loop on faults of alert handlers', async () => {
    let handled = 0;
    const opened = await start(
      handler(['message', 'alert'], async () => {
        handled += 1;
        throw new Error('canary');
      }),
    );
    const conversation = opened.service('conversation');
    for (const text of ['a', 'b', 'c'])
      await conversation.submit(message(text), { wait: patient, principal: localPrincipal });
    await until('the alert', () => handled >= 4);
    await sleep(30);
    // Three messages, the alert about them, and the alert about that alert.
    expect(handled).to.equal(5);
    expect(opened.logs.join('\n')).to.not.contain('canary');
  });

  it('delivers everything while there is no gate, reports it, and uses a gate from its start on', async () => {
    const opened = await start(
      handler(['message'], async () => 'handled'),
      gatePlugin,
    );
    const conversation = opened.service('conversation');
    const submit = () => conversation.submit(message('hi'), { wait: patient, principal: localPrincipal });
    expect((await submit()).decision).to.include({ action: 'sink', reason: 'threshold_sink' });
    await opened.control.disable('gate');
    expect(await submit()).to.include({ outcome: 'handled', value: 'handled' });
    expect((await opened.control.inspect('conversation')).health).to.deep.equal({
      ok: true,
      detail: 'The gate is off: every message is delivered (gate_off).',
    });
    await opened.control.enable('gate');
    expect(await submit()).to.include({ outcome: 'refused' });
  });

  it('lets a plugin that is being disabled handle what was accepted before', async () => {
    const handled: unknown[] = [];
    const opened = await start(
      handler(['message'], async (observation) => {
        await sleep(40);
        handled.push(observation.payload.text);
      }),
    );
    const conversation = opened.service('conversation');
    const accepted = ['a', 'b', 'c'].map((text) =>
      conversation.submit(message(text), { wait: patient, principal: localPrincipal }),
    );
    await until('the first', () => conversation.busy('console:u1:s1') || conversation.stats().running > 0);
    await opened.control.disable('test-handler');
    expect(handled).to.deep.equal(['a', 'b', 'c']);
    expect((await Promise.all(accepted)).map(({ outcome }) => outcome)).to.deep.equal(Array(3).fill('handled'));
    expect(await conversation.submit(message('d'), { wait: patient, principal: localPrincipal })).to.include({
      outcome: 'closed',
    });
  });

  it('does not wait for a handler past its time limit, and continues with the session', async () => {
    let letGo: () => void = () => undefined;
    const opened = await start(
      handler(
        ['message'],
        ({ payload }) =>
          payload.text === 'stuck' ? new Promise<void>((resolve) => (letGo = resolve)) : Promise.resolve('done'),
        { timeoutMs: 50 },
      ),
    );
    const conversation = opened.service('conversation');
    const [stuck, next] = await Promise.all(
      ['stuck', 'next'].map((text) => conversation.submit(message(text), { wait: patient, principal: localPrincipal })),
    );
    expect([stuck?.outcome, next?.outcome]).to.deep.equal(['error', 'handled']);
    const state = conversation.session(stuck?.observation?.session_key ?? '');
    expect(state?.recent_obs[0]?.error).to.equal('handler: call_timeout');
    letGo();
  });

  it('gives a handler without a declared time limit 30 seconds', () => {
    const list = () => [
      { key: 'usual', plugin: 'p', facts: { types: ['message'] }, offers: [], active: true },
      { key: 'endless', plugin: 'p', facts: { types: ['message'], timeoutMs: 0 }, offers: [], active: true },
    ];
    const table = handlerTable({ list, onChange: () => ({ dispose: () => undefined }) } as unknown as Points);
    expect(table('message')).to.deep.equal([
      { key: 'usual', timeoutMs: 30_000 },
      { key: 'endless', timeoutMs: 0 },
    ]);
  });

  it('handles in its own async context what was published inside a transaction', async () => {
    let read: unknown;
    const opened = await start({
      manifest: {
        key: 'test-writer',
        requires: ['conversation'],
        permissions: { services: ['database'], schemas: ['writer'] },
        contributes: { 'observation-handler': [{ key: 'reader', facts: { types: ['message'] } }] },
      },
      definition: {
        key: 'test-writer',
        register: () => undefined,
        async start(own) {
          const database = own.use('database');
          own.contribute('observation-handler', 'reader', {
            types: ['message'],
            handle: async () => {
              read = (await database.statement<{ one: number }>('select 1 as one')).rows[0]?.one;
            },
          });
          own.on('plugin-state', async ({ key, to }) => {
            if (key !== 'test-writer' || to !== 'active') return;
            await database.transaction(async (trx) => {
              own.use('conversation').publish(message('inside'), { principal: localPrincipal });
              await database.statement('select 1 as one', [], { trx });
            });
          });
        },
      },
    });
    await until('the query', () => read === 1);
    expect(opened.logs.join('\n')).to.not.contain('nested_query');
  });

  it('publishes no observation of any type without a principal', async () => {
    const handled: Principal[] = [];
    const types = ['message', 'world_data', 'alert', 'control', 'schedule', 'system'] as const;
    const opened = await start(handler([...types], async (_, { principal }) => void handled.push(principal)));
    const conversation = opened.service('conversation');
    const nobody = {} as { principal: Principal };
    const payloads: Record<(typeof types)[number], ObservationInput['payload']> = {
      message: { text: 'hi' },
      world_data: { schema_id: 'weather', data: {} },
      alert: { alert_type: 'x', severity: 'low' },
      control: { kind: 'tuning_suggestion', data: {} },
      schedule: { schedule_id: 's', data: {} },
      system: { text: 'x' },
    };
    for (const obs_type of types) {
      const given = { obs_type, source_name: 'test:adapter', session_key: 'one', payload: payloads[obs_type] };
      const refused = conversation.publish(given, nobody);
      expect(refused, obs_type).to.include({ ok: false, reason: 'invalid' });
      expect(refused).to.have.nested.property('errors[0].path', 'principal');
      expect(await conversation.publishOrWait(given, nobody)).to.deep.equal(refused);
      const settled = await conversation.submit(given, { ...nobody, wait: patient });
      expect(settled).to.have.nested.property('errors[0].path', 'principal');
      expect(conversation.publish(given, { principal: localPrincipal }), obs_type).to.include({ ok: true });
    }
    expect(conversation.ingestText('typed', nobody)).to.include({ ok: false, reason: 'invalid' });
    await until('all that were published for a principal', () => handled.length === types.length);
    expect(new Set(handled.map(({ id }) => id))).to.deep.equal(new Set(['local']));
  });

  it('counts what it does', async () => {
    const opened = await start(
      handler(['message'], async ({ payload }) => {
        if (payload.text === 'broken') throw new Error('no');
      }),
    );
    const conversation = opened.service('conversation');
    await conversation.submit(message('hi'), { wait: patient, principal: localPrincipal });
    await conversation.submit(message('broken'), { wait: patient, principal: localPrincipal });
    await conversation.submit({ ...message(' '), ingress: 'adapter' }, { wait: patient, principal: localPrincipal });
    conversation.publish({ ...message('x'), confidence: 7 }, { principal: localPrincipal });
    const text = await opened.app.metrics.render();
    for (const line of [
      'mortise_observation_flags_total{flag="EMPTY_CONTENT"} 1',
      'mortise_worker_errors_total{step="handler"} 1',
      'mortise_bus_dropped_total{reason="invalid"} 1',
      'mortise_bus_depth 0',
    ]) {
      expect(text).to.contain(line);
    }
    expect(text).to.match(/mortise_observations_total\{[^}]*outcome="handled"[^}]*\} [2-9]/);
    expect(text).to.match(/mortise_sessions_active(\{[^}]*\})? 2/);
  });
});
