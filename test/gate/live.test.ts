import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { InputAdapter } from 'mortise/contracts/conversation';
import { listener } from 'mortise/contracts/conversation/testing';
import type { Observation } from 'mortise/sdk';
import {
  contributing,
  createTestHost,
  eachDatabase,
  localPrincipal,
  type TestHost,
  type TestHostOptions,
  type TestPlugin,
  until,
} from 'mortise/sdk/testing';
import { stagePlugin } from './stage-plugin.js';

type Json = Readonly<Record<string, unknown>>;

/** A triggered input adapter that fails while `state.fails` is set. */
function sensor(state: { fails: boolean }): TestPlugin {
  const adapter: InputAdapter = {
    start: async () => undefined,
    stop: async () => undefined,
    observe: async () => {
      if (state.fails) throw new Error('the sensor is silent');
      return [{ source_name: 'sensor', payload: { text: 'warm' } }];
    },
  };
  return contributing('input-adapter', 'sensor', {}, adapter);
}

/** An egress adapter that fails while `state.fails` is set. */
function terminal(state: { fails: boolean; readonly sent: string[] }): TestPlugin {
  return contributing(
    'egress',
    'terminal',
    { default: true },
    {
      async send({ payload }) {
        if (state.fails) throw new Error('the line is cut');
        state.sent.push(String(payload.text));
      },
    },
  );
}

/** Records the trace of every message. */
function tracer(traces: (string | undefined)[]): TestPlugin {
  return stagePlugin('tracer', ({ observation }) => {
    if (observation.obs_type === 'message') traces.push(observation.trace_id);
  });
}

describe('the gate in a running system', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    let seen: Observation[] = [];

    async function start(options: TestHostOptions = {}): Promise<void> {
      seen = [];
      const { extra = [], ...rest } = options;
      host = await createTestHost({
        plugins: ['reflex', 'logbook', 'channel-console'],
        database: engine.env,
        ...rest,
        extra: [listener(seen, ['alert', 'control', 'system']), ...extra],
      });
    }

    afterEach(async function stop() {
      await host.stop();
    });

    const observe = async (body: object, query = '') => {
      const response = await host.post(`/observations${query}`, body);
      return { status: response.status, body: (await response.json()) as Json };
    };
    const effective = async () => {
      const status = (await (await host.fetch('/gate/status')).json()) as { overrides: { effective: Json } };
      return status.overrides.effective;
    };
    const answers = (kind: string) =>
      seen.flatMap(({ payload }) => (payload.kind === kind ? [payload.data as Json & { reason: string }] : []));
    const alerts = (source: string) => seen.filter(({ source_name }) => source_name === source);
    const system = (text: string) => seen.filter(({ payload }) => payload.text === text);
    const suggest = (force_low_model: boolean, ttl_sec: number) =>
      observe({
        obs_type: 'control',
        source_name: 'operator',
        payload: { kind: 'tuning_suggestion', data: { suggested_overrides: { force_low_model }, ttl_sec } },
      });

    it('is changed by a posted suggestion until it expires', async () => {
      await start({ config: { gate: { version: 1, overrides: { force_low_model: true } } } });
      const suggestedAt = performance.now();
      expect((await suggest(false, 2)).status).to.equal(202);
      await until('the change', async () => (await effective()).force_low_model === false);
      await until(
        'the answers',
        () => answers('tuning_applied').length === 1 && answers('system_mode_changed').length === 1,
      );
      expect(answers('tuning_applied')[0]).to.include({ accepted: true, reason: 'agent_suggestion' });
      await until('the value of the file', async () => (await effective()).force_low_model === true);
      // Exact times are tested with a manual clock.
      expect(performance.now() - suggestedAt).to.be.at.least(1_900);
      await until(
        'the notification',
        () => answers('tuning_applied').length === 2 && answers('system_mode_changed').length === 2,
      );
      expect(answers('tuning_applied')[1]).to.include({ reason: 'ttl_expired' });
      const database = host.app.database.forPlugin('test', ['gate']);
      const rows = async () =>
        (await database.statement<{ action: string }>('select action from {gate.control_audit} order by id')).rows;
      await until('the rows', async () => (await rows()).length === 2);
      expect((await rows()).map(({ action }) => action)).to.deep.equal(['suggest', 'expire']);
    });

    it('keeps a suggestion while its file changes, and applies the new file when the suggestion expires', async () => {
      await start({ config: { gate: { version: 1 } }, env: { MORTISE_GATE_RELOAD_MS: '0' } });
      await suggest(true, 2);
      await until('the change', async () => (await effective()).force_low_model === true);
      const changed = { version: 1, overrides: { force_low_model: false, drop_actors: ['bad'] } };
      await writeFile(join(host.configDir, 'gate.json'), JSON.stringify(changed));
      const reloaded = (await (await host.post('/gate/config/reload', {})).json()) as Json;
      expect(reloaded).to.include({ changed: true, error: null });
      expect(await effective()).to.deep.include({ force_low_model: true, drop_actors: ['bad'] });
      await until('the end', async () => (await effective()).force_low_model === false);
      expect(await effective()).to.deep.include({ drop_actors: ['bad'] });
      await until('the notification', () => answers('tuning_applied').some(({ reason }) => reason === 'ttl_expired'));
    });

    it('cools down an adapter that keeps failing, and accepts from it again afterwards', async () => {
      const state = { fails: true };
      await start({
        config: { gate: { version: 1, nociception: { adapter_cooldown_sec: 0.5 } } },
        extra: [sensor(state)],
      });
      const trigger = () => host.service('conversation').trigger('sensor', { reason: 'test' });
      for (let round = 0; round < 5; round += 1) expect((await trigger()).ok).to.equal(false);
      await until('the cooldown', async () => {
        const result = await trigger();
        return !result.ok && result.reason === 'cooling_down';
      });
      const [started] = system('adapter_cooldown_started');
      expect(started).to.include({ obs_type: 'system', source_name: 'system:nociception', session_key: 'system' });
      state.fails = false;
      await until('the end', async () => (await trigger()).ok);
      expect(system('adapter_cooldown_started')).to.have.length(1);
      // The end is announced by a timer that may fire later than the trigger.
      await until('the notification', () => system('adapter_cooldown_ended').length === 1);
    });

    it('cools down an egress adapter that keeps failing, and counts suppressed sends', async () => {
      const state = { fails: true, sent: [] as string[] };
      await start({
        config: { gate: { version: 1, nociception: { burst: 3, adapter_cooldown_sec: 0.4 } } },
        extra: [terminal(state)],
      });
      const say = (text: string) =>
        host.service('conversation').publish(
          {
            source_name: 'agent:speaker',
            source_kind: 'internal',
            session_key: 'console:u1:s1',
            actor: { actor_type: 'system', actor_id: 'agent' },
            payload: { text },
            metadata: { direction: 'outbound' },
          },
          { principal: localPrincipal },
        );
      const status = () =>
        host
          .service('conversation')
          .egress()
          .find(({ adapter }) => adapter === 'terminal');
      for (const text of ['a', 'b', 'c']) say(text);
      await until('the cooldown', () => host.service('conversation').cooldowns().length === 1);
      say('d');
      await until('the suppression', () => status()?.suppressed === 1);
      state.fails = false;
      await until('the end', () => host.service('conversation').cooldowns().length === 0);
      say('e');
      await until('the reply', () => state.sent.length === 1);
      expect(state.sent).to.deep.equal(['e']);
      expect(status()).to.include({ failed: 3, suppressed: 1, sent: 1 });
    });

    it('raises one alert for a burst of drops of any reason', async () => {
      await start({ config: { gate: { version: 1, overrides: { drop_actors: ['bad'] } } } });
      for (let round = 0; round < 25; round += 1) {
        const dropped = [
          { source_name: 'shop', payload: { text: ' ' } },
          { source_name: 'shop', actor: { actor_id: 'bad' }, payload: { text: `no ${round}` } },
          { source_name: 'shop', session_key: 'same', payload: { text: 'the same' } },
        ][round % 3];
        expect((await observe(dropped ?? {})).status).to.equal(202);
      }
      await until('the alert', () => alerts('gate:drop_burst').length === 1);
      await sleep(50);
      expect(alerts('gate:drop_burst')).to.have.length(1);
      expect(host.logs.filter((line) => line.includes('gate:drop_burst'))).to.have.length(1);
      const { payload } = alerts('gate:drop_burst')[0] as Observation;
      expect(payload).to.include({ alert_type: 'pain', severity: 'medium' });
      // Eight in a row are enough.
      expect(payload.data).to.deep.include({
        consecutive_threshold: 8,
        burst_threshold: 20,
        by_reason: (payload.data as Json).by_reason,
      });
      expect(Object.keys((payload.data as { by_reason: Json }).by_reason)).to.include('override=drop_actor');
    });

    it('raises an alert about too many drops between two ticks, and suppresses the fan-out', async () => {
      await start({
        env: { MORTISE_TICK_SECONDS: '0.1', MORTISE_SYSTEM_FANOUT: 'true' },
        config: { gate: { version: 1, nociception: { drop_burst: 10, fanout_suppress_sec: 3_600 } } },
      });
      await observe({ source_name: 'shop', session_key: 'console:u1:s1', payload: { text: 'hi' } });
      await until('a tick for all', () => system('[tick]').length > 0);
      expect(system('[tick]')[0]).to.include({ session_key: 'console:u1:s1', source_name: 'core:fanout' });
      await observe({ observations: Array(12).fill({ source_name: 'shop', payload: { text: ' ' } }) });
      await until('the alert', () => alerts('system:drop_overload').length === 1);
      const ticks = system('[tick]').length;
      await sleep(400);
      expect(system('[tick]').length - ticks).to.be.at.most(1);
      expect(alerts('system:drop_overload')).to.have.length(1);
    });

    it('drops messages while the process is overloaded, and raises one alert', async () => {
      await start({
        plugins: ['reflex', 'agent', 'provider-demo', 'channel-console'],
        config: { gate: { version: 1, overload: { lag_on_ms: 200, lag_off_ms: 200 } } },
      });
      const ask = () => host.post('/agent/process', { session_id: 's1', user_id: 'u1', channel: 'console', input: [] });
      const block = async () => {
        for (let round = 0; round < 4; round += 1) {
          const until = performance.now() + 700;
          while (performance.now() < until);
          await sleep(1);
        }
      };
      const overload = async () =>
        ((await (await host.fetch('/gate/status')).json()) as { health: { overload: boolean } }).health.overload;
      await block();
      await until('the overload', overload);
      const refused = await ask();
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1']);
      expect(((await refused.json()) as { error: { details: Json } }).error.details).to.include({
        reason: 'system_overload',
      });
      await until('the end', async () => !(await overload()), 15_000);
      expect((await ask()).status).to.equal(200);
      await block();
      expect(alerts('system:gate_overload')).to.have.length(1);
      expect(alerts('system:gate_overload')[0]?.payload).to.include({ alert_type: 'pain', severity: 'high' });
    });

    it('raises one alert about a stage that fails repeatedly', async () => {
      const stage = stagePlugin('fragile', () => {
        throw new Error('canary');
      });
      await start({ extra: [stage] });
      for (let round = 0; round < 7; round += 1) await observe({ source_name: 'shop', payload: { text: `m${round}` } });
      await until('the alert', () => alerts('gate:stage_failed').length > 0);
      await sleep(30);
      expect(alerts('gate:stage_failed')).to.have.length(1);
      expect(alerts('gate:stage_failed')[0]?.payload).to.deep.include({
        severity: 'high',
        data: { stage: 'fragile' },
      });
      const status = (await (await host.fetch('/gate/status')).json()) as { stages: readonly Json[] };
      const fragile = status.stages.find(({ key }) => key === 'fragile');
      expect(fragile).to.include({ state: 'ok', on_failure: 'closed' });
      expect(fragile?.failures).to.be.at.least(7);
    });

    it('ends the chain of a stage that emits from its own output, with one alert, and continues', async () => {
      const looper = stagePlugin('looper', (work) => {
        if (work.observation.payload.text !== 'loop') return;
        work.emit({ source_name: 'looper', payload: { text: 'loop' } });
      });
      await start({ extra: [looper] });
      const observation = { source_name: 'shop', session_key: 'console:u1:s1', payload: { text: 'loop' } };
      expect((await observe(observation, '?wait=decision')).body.decision).to.include({ action: 'deliver' });
      await until('the alert', () => seen.some(({ payload }) => payload.alert_type === 'loop_hops'));
      expect((await observe({ ...observation, payload: { text: 'on' } }, '?wait=decision')).status).to.equal(202);
      expect(alerts('gate:loop_hops')).to.have.length(1);
      const { totals } = (await (await host.fetch('/gate/status')).json()) as { totals: { by_reason: Json } };
      expect(totals.by_reason).to.include({ loop_hops: 1, message_default: 10 });
    });

    it('abandons a send after its time limit, and sends the next reply', async () => {
      const sent: unknown[] = [];
      const slow: TestPlugin = {
        manifest: { key: 'slow', contributes: { egress: [{ key: 'slow', facts: { default: true, timeoutMs: 100 } }] } },
        definition: {
          key: 'slow',
          register(own) {
            own.contribute('egress', 'slow', {
              default: true,
              timeoutMs: 100,
              send: ({ payload }, { signal }) =>
                payload.text === 'stuck'
                  ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
                  : Promise.resolve(void sent.push(payload.text)),
            });
          },
        },
      };
      await start({ extra: [slow] });
      const publishText = (text: string) =>
        host.service('conversation').publish(
          {
            source_name: 'agent:speaker',
            source_kind: 'internal',
            session_key: 'console:u1:s1',
            actor: { actor_id: 'agent' },
            payload: { text },
          },
          { principal: localPrincipal },
        );
      const stuck = publishText('stuck');
      publishText('next');
      await until('the next', () => sent.length === 1);
      const status = host
        .service('conversation')
        .egress()
        .find(({ adapter }) => adapter === 'slow');
      expect(status).to.include({ timed_out: 1, failed: 0, sent: 1 });
      const obsId = stuck.ok ? stuck.observation.obs_id : '';
      const traceId = stuck.ok ? stuck.observation.trace_id : '';
      const line = host.logs.find((one) => one.includes('a reply was not sent'));
      expect(JSON.parse(line ?? '{}')).to.include({ level: 'warn', adapter: 'slow', obs_id: obsId, trace_id: traceId });
      await until('the alert', () => alerts('egress:slow').length === 1);
    });

    it('carries one trace from the request to the reply and the audit', async () => {
      const state = { fails: false, sent: [] as string[] };
      const traces: (string | undefined)[] = [];
      await start({
        plugins: ['reflex', 'agent', 'provider-demo', 'channel-console'],
        extra: [terminal(state), tracer(traces)],
      });
      const traceId = 'abcdef0123456789abcdef0123456789';
      const headers = { traceparent: `00-${traceId}-0123456789abcdef-01` };
      const body = { source_name: 'shop', session_key: 'console:u1:s1', payload: { text: 'hi' } };
      const posted = await host.post('/observations', body, headers);
      expect(posted.headers.get('x-trace-id')).to.equal(traceId);
      await until('the reply', () => state.sent.length === 1 && traces.length >= 2);
      expect(new Set(traces)).to.deep.equal(new Set([traceId]));
      const change = { overrides: { force_low_model: true }, reason: 'test' };
      expect((await host.post('/gate/overrides', change, headers)).headers.get('x-trace-id')).to.equal(traceId);
      const database = host.app.database.forPlugin('test', ['gate']);
      const rows = async () =>
        (await database.statement<{ trace_id: string }>('select trace_id from {gate.control_audit}')).rows;
      await until('the row', async () => (await rows()).length === 1);
      expect((await rows())[0]?.trace_id).to.equal(traceId);
    });

    it('changes the gate while the audit cannot be written, and writes it later', async () => {
      await start();
      const database = host.app.database.forPlugin('test', ['gate']);
      const [table, away] = [database.table('gate.control_audit'), 'control_audit_away'];
      const moved = engine.dialect === 'postgres' ? `gate.${away}` : away;
      await database.statement(`alter table ${table} rename to ${away}`);
      const change = { overrides: { emergency_mode: true }, reason: 'test' };
      expect((await host.post('/gate/overrides', change)).status).to.equal(202);
      await until('the change', async () => (await effective()).emergency_mode === true);
      await sleep(50);
      const back = engine.dialect === 'postgres' ? 'control_audit' : table;
      await database.statement(`alter table ${moved} rename to ${back}`);
      const rows = async () =>
        (await database.statement<{ override_key: string }>('select override_key from {gate.control_audit}')).rows;
      await until('the row', async () => (await rows()).length === 1);
    });

    it('ends a cooldown on request of an operator, with an audit row', async () => {
      const state = { fails: true };
      await start({ config: { gate: { version: 1, nociception: { burst: 1 } } }, extra: [sensor(state)] });
      const trigger = () => host.service('conversation').trigger('sensor', { reason: 'test' });
      await trigger();
      await until('the cooldown', () => host.service('conversation').cooldowns().length === 1);
      const status = (await (await host.fetch('/gate/status')).json()) as { cooldowns: readonly Json[] };
      expect(status.cooldowns[0]).to.include({ adapter: 'sensor' });
      const cleared = await host.fetch('/gate/cooldowns/sensor', { method: 'DELETE' });
      expect(await cleared.json()).to.deep.equal({ cleared: true });
      state.fails = false;
      expect(await trigger()).to.include({ ok: true });
      const trail = host.service('audit');
      await until(
        'the audit row',
        async () => (await trail.query({ operation: 'gate:cooldown_clear' })).rows.length === 1,
      );
    });
  });
});
