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

const suggestion = (value: boolean, ttl_sec: number): ObservationInput => ({
  obs_type: 'control',
  source_name: 'agent:speaker',
  source_kind: 'internal',
  payload: { kind: 'tuning_suggestion', data: { suggested_overrides: { force_low_model: value }, ttl_sec } },
});

interface AuditRow {
  readonly action: string;
  readonly override_key: string;
  readonly reason: string;
  readonly old_value: string;
  readonly new_value: string;
}

describe('stored overrides', () => {
  eachDatabase((engine) => {
    let dataDir: string;
    const hosts: TestHost[] = [];
    const seen: Observation[] = [];

    beforeEach(async () => {
      dataDir = temporaryFolder('overlays');
      seen.length = 0;
    });

    afterEach(async function stop() {
      await Promise.all(hosts.splice(0).map((host) => host.stop()));
    });

    async function start(persistence: 'memory' | 'sql' = 'sql', folder = dataDir): Promise<TestHost> {
      const host = await createTestHost({
        plugins: ['reflex'],
        dataDir: folder,
        database: engine.env,
        env: { MORTISE_GATE_PERSISTENCE: persistence },
        extra: [listener(seen, ['control'])],
      });
      hosts.push(host);
      return host;
    }

    const overrides = (host: TestHost) => host.service('gate-control').snapshot().config.overrides;
    const set = (host: TestHost, values: object, more: object = {}) =>
      host.post('/gate/overrides', { overrides: values, reason: 'test', ...more });
    const database = (host: TestHost) => host.app.database.forPlugin('reflex', ['gate']);
    const count = async (host: TestHost, table: string) =>
      (await database(host).statement<{ n: number }>(`select count(*) as n from {gate.${table}}`)).rows[0]?.n;
    const expired = async (host: TestHost) =>
      (
        await database(host).statement<AuditRow>(
          `select action, override_key, reason, old_value, new_value from {gate.control_audit} where action = 'expire'`,
        )
      ).rows;

    it('apply again after a start, and expire on time', async () => {
      const first = await start();
      await set(first, { drop_actors: ['u1'] });
      first.service('conversation').publish(suggestion(true, 600), { principal: localPrincipal });
      await until('both', () => overrides(first).force_low_model && overrides(first).drop_actors.length === 1);
      await until('both rows', async () => (await count(first, 'overlays')) === 2);
      await first.stop();
      const second = await start();
      expect(overrides(second)).to.deep.include({ force_low_model: true, drop_actors: ['u1'] });
      const { layers } = second.service('gate-control').snapshot();
      const suggested = layers.find(({ layer }) => layer === 'agent');
      expect(suggested?.expires_at).to.be.within(Date.now() + 500_000, Date.now() + 600_000);
      await second.fetch('/gate/overrides/drop_actors', { method: 'DELETE' });
      await until('the end', async () => (await count(second, 'overlays')) === 1);
      expect(overrides(second).drop_actors).to.deep.equal([]);
    });

    it('that expire while no process runs are audited once at the next start', async () => {
      const first = await start();
      first.service('conversation').publish(suggestion(true, 2), { principal: localPrincipal });
      await until('the row', async () => (await count(first, 'overlays')) === 1);
      await first.stop();
      await sleep(2_100);
      const second = await start();
      expect(overrides(second).force_low_model).to.equal(false);
      await until('the note', async () => (await expired(second)).length === 1);
      expect((await expired(second))[0]).to.deep.include({
        override_key: 'force_low_model',
        reason: 'ttl_expired',
        old_value: 'true',
        new_value: 'false',
      });
      await until('the removal', async () => (await count(second, 'overlays')) === 0);
      await second.stop();
      expect(await expired(await start())).to.have.length(1);
    });

    it('survive a restart only where processes share them', async () => {
      const first = await start('memory');
      await set(first, { emergency_mode: true });
      await until('the change', () => overrides(first).emergency_mode);
      await first.stop();
      const shared = engine.dialect === 'postgres';
      expect(overrides(await start('memory')).emergency_mode).to.equal(shared);
    });

    if (engine.dialect === 'postgres') {
      it('are adopted by every process, and expire in all of them with one audit row', async () => {
        const other = temporaryFolder('overlays');
        const one = await start('memory');
        const two = await start('memory', other);
        await set(one, { drop_sessions: ['console:u1:s1'] });
        await until('the other', () => overrides(two).drop_sessions.length === 1);
        await two.fetch('/gate/overrides/drop_sessions', { method: 'DELETE' });
        await until('the end', () => overrides(one).drop_sessions.length === 0);
        seen.length = 0;
        one.service('conversation').publish(suggestion(true, 3), { principal: localPrincipal });
        await until('both', () => overrides(one).force_low_model && overrides(two).force_low_model);
        const refused = two.service('conversation').publish(suggestion(false, 1), { principal: localPrincipal });
        expect(refused.ok).to.equal(true);
        await until('the refusal', () =>
          seen.some(({ payload }) => (payload.data as { reason?: string }).reason === 'cooldown'),
        );
        await until('the end in both', () => !overrides(one).force_low_model && !overrides(two).force_low_model);
        await until('the note', async () => (await expired(one)).length > 0);
        await sleep(300);
        expect(await expired(one)).to.have.length(1);
        const modes = seen.filter(({ payload }) => payload.kind === 'system_mode_changed');
        // On and off, in both.
        expect(modes).to.have.length(4);
      });

      it('that are set in two processes at once expire everywhere as the later one requests', async () => {
        const other = temporaryFolder('overlays');
        const one = await start('memory');
        const two = await start('memory', other);
        await Promise.all([set(one, { drop_actors: ['one'] }), set(two, { drop_actors: ['two'] })]);
        await until('the same', async () => {
          await sleep(50);
          const [a, b] = [overrides(one).drop_actors, overrides(two).drop_actors];
          return a.length === 1 && a[0] === b[0];
        });
        await sleep(100);
        expect(overrides(one).drop_actors).to.deep.equal(overrides(two).drop_actors);
      });
    }
  });
});
