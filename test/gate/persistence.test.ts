import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { listener } from 'mortise/contracts/conversation/testing';
import type { Observation, ObservationInput } from 'mortise/sdk';
import {
  createTestHost,
  eachDatabase,
  localPrincipal,
  type TestHost,
  temporaryFolder,
  until,
} from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

interface Pool {
  readonly total_seen: number;
  readonly items: readonly (Json & { readonly obs_id: string })[];
}

const message = (text: string, session = 's1'): ObservationInput => ({
  source_name: 'test',
  ingress: 'adapter',
  session_key: `console:u1:${session}`,
  actor: { actor_type: 'user', actor_id: 'u1' },
  payload: { text },
});

describe('persistent state of the gate and its sessions', () => {
  eachDatabase((engine) => {
    const hosts: TestHost[] = [];
    const seen: Observation[] = [];

    afterEach(async function stop() {
      await Promise.all(hosts.splice(0).map((host) => host.stop()));
      seen.length = 0;
    });

    const newFolder = () => temporaryFolder('persistence');

    async function start(dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<TestHost> {
      const host = await createTestHost({
        plugins: ['reflex', 'channel-console'],
        dataDir,
        database: engine.env,
        env: { MORTISE_GATE_PERSISTENCE: 'sql', ...env },
        extra: [listener(seen, ['message', 'alert'])],
      });
      hosts.push(host);
      return host;
    }

    const submit = (host: TestHost, observation: ObservationInput) =>
      host
        .service('conversation')
        .submit(observation, { wait: { limit: 16, timeoutMs: 5_000 }, principal: localPrincipal });
    const pool = async (host: TestHost, name: string) =>
      (await (await host.fetch(`/gate/pools/${name}?limit=200`)).json()) as Pool;
    const release = async (host: TestHost, obsId: string) =>
      (await host.post(`/gate/pools/drop/${obsId}/release`, {})).status;
    const table = (host: TestHost) => host.app.database.forPlugin('test', ['gate']);

    it('is restored at start: pools, and the counters of sessions', async () => {
      const folder = newFolder();
      const first = await start(folder);
      for (const text of ['', '  ', 'fine']) await submit(first, message(text));
      const weather = { ...message(''), obs_type: 'world_data', payload: { schema_id: 'weather', data: {} } } as const;
      first.service('conversation').publish(weather, { principal: localPrincipal });
      await until('the weather', async () => (await pool(first, 'tool')).items.length === 1);
      const before = await pool(first, 'drop');
      const released = before.items[0]?.obs_id ?? '';
      expect(await release(first, released)).to.equal(202);
      await until('the release', async () => (await pool(first, 'drop')).total_seen === 3);
      const state = first.service('conversation').session('console:u1:s1');
      const last = (await pool(first, 'drop')).items;
      await first.stop();

      const second = await start(folder);
      expect((await pool(second, 'drop')).items).to.deep.equal(last);
      expect((await pool(second, 'tool')).items.map(({ preview }) => preview)).to.deep.equal(['weather']);
      expect(await release(second, released)).to.equal(409);
      const restored = second.service('conversation').session('console:u1:s1');
      expect(restored).to.deep.include({
        created_at: state?.created_at,
        last_active_at: state?.last_active_at,
        processed_total: state?.processed_total,
        recent_obs: [],
      });
      await submit(second, message('again'));
      expect(second.service('conversation').session('console:u1:s1')?.processed_total).to.equal(
        Number(state?.processed_total) + 1,
      );
    });

    it('keeps the newest 200 of each pool, also in the database', async () => {
      const host = await start(newFolder());
      for (let round = 0; round < 3; round += 1) {
        for (let count = 0; count < 100; count += 1) await submit(host, message(' '));
        await sleep(300);
      }
      const stored = async () =>
        (await table(host).statement<{ n: number }>('select count(*) as n from {gate.pool_entries}')).rows[0]?.n;
      await until('the rows', async () => (await stored()) === 200);
      expect((await pool(host, 'drop')).total_seen).to.equal(300);
    });

    it('is deleted with its session', async () => {
      const host = await start(newFolder(), {
        MORTISE_SESSION_IDLE_TTL_SECONDS: '2',
        MORTISE_SESSION_IDLE_SWEEP_SECONDS: '0.05',
        MORTISE_TICK_SECONDS: '0',
      });
      await submit(host, message('hi'));
      const keys = async () =>
        (
          await table(host).statement<{ session_key: string }>('select session_key from {gate.session_states}')
        ).rows.map(({ session_key }) => session_key);
      await until('the row', async () => (await keys()).includes('console:u1:s1'));
      await until('the end', async () => !(await keys()).includes('console:u1:s1'));
      expect(await host.app.metrics.render()).to.match(
        /mortise_sessions_collected_total\{[^}]*reason="idle"[^}]*\} [1-9]/,
      );
      expect(host.service('conversation').session('system')).not.to.equal(undefined);
      await submit(host, message('hi again'));
      expect(host.service('conversation').session('console:u1:s1')?.processed_total).to.equal(1);
    });

    it('is lost at a restart when it is kept in memory', async () => {
      const folder = newFolder();
      const memory = { MORTISE_GATE_PERSISTENCE: 'memory' };
      const first = await start(folder, memory);
      await submit(first, message(' '));
      await first.stop();
      const second = await start(folder, memory);
      expect((await pool(second, 'drop')).items).to.deep.equal([]);
      expect(second.service('conversation').session('console:u1:s1')).to.equal(undefined);
    });

    if (engine.dialect === 'postgres') {
      it('is released once across all processes', async () => {
        const folder = newFolder();
        const first = await start(folder);
        await submit(first, message(' '));
        await first.stop();
        const [one, two] = [await start(folder), await start(newFolder())];
        const obsId = (await pool(one, 'drop')).items[0]?.obs_id ?? 'nothing';
        const answers = await Promise.all([release(one, obsId), release(two, obsId)]);
        expect(answers.sort()).to.deep.equal([202, 409]);
      });
    }

    // This test is last because it drops tables.
    it('stays in memory with an alert once the database fails, and messages continue', async () => {
      const host = await start(newFolder());
      await submit(host, message('hi'));
      await table(host).statement('alter table {gate.session_states} rename to lost_states');
      await table(host).statement('alter table {gate.pool_entries} rename to lost_entries');
      await submit(host, message(' '));
      const alerts = () => seen.filter(({ payload }) => payload.alert_type === 'gate_persistence_off');
      await until('both alerts', () => alerts().length === 2);
      expect(await submit(host, message('still here'))).to.include({ outcome: 'handled' });
      const { items } = await pool(host, 'drop');
      expect(await release(host, items[0]?.obs_id ?? '')).to.equal(202);
      expect(await release(host, items[0]?.obs_id ?? '')).to.equal(409);
    });
  });
});
