import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { listener } from 'mortise/contracts/conversation/testing';
import type { GateControl } from 'mortise/contracts/gate';
import { extendContext, type Observation, type ObservationInput } from 'mortise/sdk';
import {
  createTestHost,
  eachDatabase,
  localPrincipal,
  type TestHost,
  type TestHostOptions,
  until,
} from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

interface AuditRow {
  readonly action: string;
  readonly override_key: string | null;
  readonly accepted: boolean | number;
  readonly reason: string | null;
}

const message = (text: string): ObservationInput => ({
  source_name: 'test',
  ingress: 'adapter',
  session_key: 'console:u1:s1',
  actor: { actor_type: 'user', actor_id: 'u1' },
  payload: { text },
});

const suggestion = (overrides: object, ttl_sec: number): ObservationInput => ({
  obs_type: 'control',
  source_name: 'agent:speaker',
  source_kind: 'internal',
  payload: { kind: 'tuning_suggestion', data: { suggested_overrides: overrides, ttl_sec } },
});

describe('the plugin reflex', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    let seen: Observation[] = [];

    async function start(options: TestHostOptions = {}): Promise<void> {
      seen = [];
      const { extra = [], ...rest } = options;
      host = await createTestHost({
        plugins: ['reflex', 'logbook'],
        database: engine.env,
        ...rest,
        extra: [listener(seen), ...extra],
      });
    }

    afterEach(async function stop() {
      await host.stop();
    });

    const overrides = () => host.service('gate-control').snapshot().config.overrides;
    const kinds = () => seen.filter(({ obs_type }) => obs_type === 'control').map(({ payload }) => payload.kind);
    const submit = (text: string) =>
      host
        .service('conversation')
        .submit(message(text), { wait: { limit: 16, timeoutMs: 5_000 }, principal: localPrincipal });

    async function rows(count: number): Promise<readonly AuditRow[]> {
      const database = host.app.database.forPlugin('reflex', ['gate']);
      const read = async () =>
        (
          await database.statement<AuditRow>(
            'select action, override_key, accepted, reason from {gate.control_audit} order by id',
          )
        ).rows;
      await until(`${count} rows`, async () => (await read()).length >= count);
      return read();
    }

    it('applies a suggestion from the bus, and expires it without traffic', async () => {
      await start();
      const publishedAt = performance.now();
      host.service('conversation').publish(suggestion({ force_low_model: true }, 2), { principal: localPrincipal });
      await until('the change', () => overrides().force_low_model);
      await until('the answers', () => kinds().length === 3);
      expect(kinds()).to.deep.equal(['tuning_suggestion', 'tuning_applied', 'system_mode_changed']);
      const [first, answer] = seen.filter(({ obs_type }) => obs_type === 'control');
      expect(answer).to.deep.include({
        source_name: 'system:reflex',
        trace_id: first?.trace_id,
        parent_obs_id: first?.obs_id,
        hop: 1,
      });
      expect(answer?.payload.data).to.include({ reason: 'agent_suggestion' });
      await until('the end', () => !overrides().force_low_model);
      // To the millisecond it is tested with a clock of the test.
      expect(performance.now() - publishedAt).to.be.at.least(1_900);
      await until('the news', () => kinds().length === 5);
      expect((await rows(2)).map(({ action }) => action)).to.deep.equal(['suggest', 'expire']);
    });

    it('keeps an override when the file changes', async () => {
      await start({ config: { gate: { version: 1 } } });
      host.service('conversation').publish(suggestion({ force_low_model: true }, 1), { principal: localPrincipal });
      await until('the change', () => overrides().force_low_model);
      await writeFile(join(host.configDir, 'gate.json'), '{"version":1,"overrides":{"drop_actors":["x"]}}');
      const reload = await host.post('/gate/config/reload', {});
      expect(((await reload.json()) as Json).changed).to.equal(true);
      expect(overrides()).to.deep.include({ force_low_model: true, drop_actors: ['x'] });
      await until('the end', () => !overrides().force_low_model);
      expect(overrides().drop_actors).to.deep.equal(['x']);
    });

    it('stops and resumes messages by an admin override over the bus', async () => {
      await start();
      expect(await submit('hi')).to.include({ outcome: 'handled' });
      const set = await host.post('/gate/overrides', { overrides: { emergency_mode: true }, reason: 'test' });
      expect(set.status).to.equal(202);
      const { trace_id } = (await set.json()) as { trace_id: string };
      expect(set.headers.get('x-trace-id')).to.equal(trace_id);
      await until('the change', () => overrides().emergency_mode);
      const sunk = await submit('later');
      expect(sunk.decision).to.include({ action: 'sink', reason: 'override=emergency' });
      const status = (await (await host.fetch('/gate/status')).json()) as { overrides: { layers: Json[] } };
      expect(status.overrides.layers[0]).to.include({
        layer: 'admin',
        key: 'emergency_mode',
        value: true,
        reason: 'test',
      });
      const cleared = await host.fetch('/gate/overrides/emergency_mode', { method: 'DELETE' });
      expect(cleared.status).to.equal(202);
      await until('the end', () => !overrides().emergency_mode);
      expect((await rows(2)).map(({ action, override_key }) => [action, override_key])).to.deep.equal([
        ['admin_set', 'emergency_mode'],
        ['admin_clear', 'emergency_mode'],
      ]);
      const trail = async () => (await host.service('audit').query({ operation: 'gate:admin_set' })).rows;
      await until('the audit row', async () => (await trail()).length === 1);
    });

    it('releases a sunk observation once, in spite of emergency mode', async () => {
      await start({ config: { gate: { version: 1, overrides: { emergency_mode: true } } } });
      const { observation } = await submit('please');
      const path = `/gate/pools/sink/${observation?.obs_id}/release`;
      const released = await host.post(path, {});
      expect(released.status).to.equal(202);
      const { obs_id, released_from } = (await released.json()) as Json;
      expect(released_from).to.equal(observation?.obs_id);
      await until('the message', () => seen.some((one) => one.obs_id === obs_id));
      expect(seen.find((one) => one.obs_id === obs_id)?.trace_id).to.equal(observation?.trace_id);
      expect((await host.post(path, {})).status).to.equal(409);
      expect((await host.post('/gate/pools/sink/none/release', {})).status).to.equal(404);
      expect((await host.post('/gate/pools/none/x/release', {})).status).to.equal(404);
    });
  });

  describe('over HTTP', () => {
    let host: TestHost;

    afterEach(async function stop() {
      await host.stop();
    });

    it('refuses invalid requests with a hint', async () => {
      host = await createTestHost({ plugins: ['reflex'] });
      const wrong = async (body: unknown) => {
        const response = await host.post('/gate/overrides', body);
        return { status: response.status, ...((await response.json()) as { error: Json }).error };
      };
      expect(await wrong({ overrides: { emergancy_mode: true }, reason: 'r' })).to.deep.include({
        status: 400,
        code: 'invalid_override',
        details: { path: '/overrides/emergancy_mode', nearest: 'emergency_mode' },
      });
      expect(await wrong({ overrides: { emergency_mode: 1 }, reason: 'r' })).to.include({ code: 'invalid_override' });
      expect(await wrong({ overrides: { emergency_mode: true } })).to.include({ code: 'invalid_request' });
      expect(await wrong({ overrides: {}, reason: 'r' })).to.include({ code: 'invalid_override' });
      expect(await wrong({ overrides: { emergency_mode: true }, reason: 'r', ttl_sec: 0 })).to.include({ status: 400 });
      expect((await host.fetch('/gate/overrides/nope', { method: 'DELETE' })).status).to.equal(400);
      const cooldown = await host.fetch('/gate/cooldowns/q%3Ax', { method: 'DELETE' });
      expect(await cooldown.json()).to.deep.equal({ cleared: false });
    });

    it('requires the admin right for every change', async () => {
      const env = { GOVERNANCE_ADMIN_KEY: 'admin-key-0123456789', MORTISE_API_KEY: 'api-key-0123456789' };
      host = await createTestHost({ plugins: ['reflex'], env });
      const headers = { 'X-API-Key': env.MORTISE_API_KEY };
      const body = { overrides: { emergency_mode: true }, reason: 'r' };
      expect((await host.post('/gate/overrides', body, headers)).status).to.equal(403);
      expect((await host.post('/gate/pools/sink/x/release', {}, headers)).status).to.equal(403);
      expect((await host.post('/gate/config/reload', {}, headers)).status).to.equal(403);
      const admin = { ...headers, 'X-Admin-Key': env.GOVERNANCE_ADMIN_KEY };
      expect((await host.post('/gate/overrides', body, admin)).status).to.equal(202);
    });

    it('lists sessions, newest activity first, page by page', async () => {
      host = await createTestHost({ plugins: ['reflex', 'channel-console'], extra: [listener([])] });
      const conversation = host.service('conversation');
      for (const index of [1, 2, 3]) {
        await conversation.submit(
          { ...message(`m${index}`), session_key: `console:u:${index}` },
          {
            wait: { limit: 1, timeoutMs: 1_000 },
            principal: localPrincipal,
          },
        );
      }
      const page = async (query: string) => {
        const response = await host.fetch(`/gate/sessions?${query}`);
        const list = (await response.json()) as { session_key: string }[];
        return { keys: list.map(({ session_key }) => session_key), next: response.headers.get('x-next-cursor') };
      };
      const all = await page('');
      expect(all.keys).to.have.members(['console:u:1', 'console:u:2', 'console:u:3', 'system']);
      const first = await page('limit=3');
      const second = await page(`limit=3&cursor=${first.next}`);
      expect([...first.keys, ...second.keys]).to.have.members(all.keys);
      expect(second.next).to.equal(null);
      expect((await host.fetch('/gate/sessions?limit=0')).status).to.equal(400);
      expect((await host.fetch('/gate/sessions?cursor=x')).status).to.equal(400);
    });

    it('contributes the tool only while it is exposed by the configuration', async () => {
      host = await createTestHost({ plugins: ['reflex'], config: { gate: { version: 1 } } });
      const offered = () => host.points.keys('tool').includes('suggest_tuning');
      expect(offered()).to.equal(false);
      await writeFile(join(host.configDir, 'gate.json'), '{"version":1,"expose_tuning_tool":true}');
      await host.post('/gate/config/reload', {});
      expect(offered()).to.equal(true);
      const result = await host.points.call('tool', 'suggest_tuning', (tool, ctx) =>
        tool.run({ suggested_overrides: { force_low_model: true } }, extendContext(ctx, { caller: 'agent' as const })),
      );
      expect(result).to.have.property('obs_id');
      await until('the change', () => host.service('gate-control').snapshot().config.overrides.force_low_model);
      await writeFile(join(host.configDir, 'gate.json'), '{"version":1}');
      await host.post('/gate/config/reload', {});
      expect(offered()).to.equal(false);
    });

    it('continues when a change throws, and raises an alert', async () => {
      const seen: Observation[] = [];
      const broken = (): never => {
        throw new TypeError('canary');
      };
      const { overrides, system_reflex } = {
        overrides: { emergency_mode: false, force_low_model: false },
        system_reflex: { allow_agent_suggestions: true, whitelist: ['force_low_model'], cooldown_sec: 0 },
      };
      const config = { overrides, system_reflex, loop_guard: { allow: [] } };
      const control = {
        snapshot: () => ({ revision: 1, layers: [], config }),
        totals: () => ({ dropped: 0 }),
        onChange: () => ({ dispose: () => undefined }),
        updateOverrides: broken,
      } as unknown as GateControl;
      host = await createTestHost({
        plugins: ['reflex'],
        extra: [
          {
            manifest: { key: 'gate', provides: ['gate-control'] },
            definition: { key: 'gate', register: (own) => own.provide('gate-control', control) },
          },
          listener(seen),
        ],
      });
      for (const _ of [1, 2])
        host.service('conversation').publish(suggestion({ force_low_model: true }, 1), { principal: localPrincipal });
      const alerts = () => seen.filter(({ payload }) => payload.alert_type === 'system_reflex_error');
      await until('both alerts', () => alerts().length === 2);
      expect(alerts()[0]?.payload).to.include({ severity: 'high' });
      expect(JSON.stringify(alerts()) + host.logs.join('\n')).to.not.contain('canary');
    });

    it('cools down a failing adapter, and refuses its callers with 503', async () => {
      host = await createTestHost({
        plugins: ['reflex'],
        config: { gate: { version: 1, nociception: { burst: 2, adapter_cooldown_sec: 0.3 } } },
        extra: [listener([])],
      });
      const body = { source_name: 'weather', payload: { text: 'rain' } };
      expect((await host.post('/observations', body)).status).to.equal(202);
      for (const _ of [1, 2]) {
        host.app.kernel.events.emit('alert', {
          source: 'adapter:weather',
          severity: 'low',
          code: 'pain',
          message: 'x',
        });
      }
      const conversation = host.service('conversation');
      await until('the cooldown', () => conversation.cooldowns().length === 1);
      const refused = await host.post('/observations', body);
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1']);
      expect(((await refused.json()) as { error: Json }).error).to.include({ code: 'adapter_cooldown' });
      expect((await host.post('/observations', { ...body, source_name: 'other' })).status).to.equal(202);
      await until('the end', async () => (await host.post('/observations', body)).status === 202);
    });
  });
});
