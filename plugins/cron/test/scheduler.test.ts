import { expect } from 'chai';
import { eachDatabase, until } from 'mortise/sdk/testing';
import type { CronSlot } from '../contract/index.js';
import { progressing } from '../store/hold-runs.js';
import { prune } from '../store/prune.js';
import { startRuns } from '../store/start-runs.js';
import { setPaused } from '../store/write-jobs.js';
import { type Send, type TestScheduler, testScheduler } from './fixture.js';

/** Outcomes with the minutes and seconds of their slots: `01:00 succeeded`, `01:00-04:00 skipped coalesced 4`. */
function shown(slots: readonly CronSlot[]): readonly string[] {
  return slots.map(({ scheduled_at: from, through_at: to, outcome, reason, slot_count: count }) => {
    const [first, last] = [from.slice(14, 19), to.slice(14, 19)];
    return [first === last ? first : `${first}-${last}`, outcome, reason ?? [], first === last ? [] : count]
      .flat()
      .join(' ');
  });
}

describe('the scheduler', () => {
  eachDatabase((engine) => {
    const sent: string[] = [];
    let send: Send;
    let cron: TestScheduler;

    beforeEach(async () => {
      sent.length = 0;
      send = async (_text, key) => void sent.push(key);
      cron = await testScheduler(engine, (...call) => send(...call));
    });

    afterEach(async function stop() {
      await cron.scheduler.stop(5_000);
    });

    it('gives every slot one row, and every job its next slot', async () => {
      await cron.save('a', '60s');
      for (const minute of [1, 2, 3]) await cron.tickAt(`2026-11-20T10:0${minute}:00.020Z`);
      await cron.tickAt('2026-11-20T10:03:30Z');
      expect(shown(await cron.slots('a'))).to.deep.equal(['01:00 succeeded', '02:00 succeeded', '03:00 succeeded']);
      expect(sent).to.deep.equal([1, 2, 3].map((minute) => `cron:a:2026-11-20T10:0${minute}:00Z`));
      expect(await cron.state('a')).to.deep.equal({
        next_run_at: '2026-11-20T10:04:00Z',
        last_run_at: '2026-11-20T10:03:00Z',
        last_status: 'succeeded',
        paused: false,
      });
    });

    it('catches up after a gap as the policy says', async () => {
      const policies: Readonly<Record<string, object>> = {
        once: {},
        all: { misfire_policy: 'run_all' },
        window: { misfire_policy: 'run_all', misfire_window_seconds: 120 },
        skip: { misfire_policy: 'skip' },
        grace: { misfire_grace_seconds: 30 },
      };
      for (const [id, runtime] of Object.entries(policies)) await cron.save(id, '60s', { runtime });
      await cron.tickAt('2026-11-20T10:05:10Z');
      await cron.tick();
      const expected = {
        once: ['01:00-04:00 skipped coalesced 4', '05:00 succeeded'],
        all: ['01:00 succeeded', '02:00 succeeded', '03:00 succeeded', '04:00 succeeded', '05:00 succeeded'],
        window: ['01:00-03:00 skipped window 3', '04:00 succeeded', '05:00 succeeded'],
        skip: ['01:00-05:00 skipped policy 5'],
        grace: ['01:00-04:00 skipped misfire 4', '05:00 succeeded'],
      };
      await until('all of them', async () => (await cron.slots('all')).every(({ outcome }) => outcome === 'succeeded'));
      for (const [id, rows] of Object.entries(expected)) expect(shown(await cron.slots(id)), id).to.deep.equal(rows);
      expect(sent.filter((key) => key.startsWith('cron:all:'))).to.deep.equal(
        [1, 2, 3, 4, 5].map((minute) => `cron:all:2026-11-20T10:0${minute}:00Z`),
      );
    });

    it('says in the state of a job that only misfires were left', async () => {
      await cron.save('late', '60s', { runtime: { misfire_grace_seconds: 30 } });
      await cron.tickAt('2026-11-20T10:05:50Z');
      expect(sent).to.deep.equal([]);
      expect(await cron.state('late')).to.deep.include({
        last_status: 'failed',
        last_error: 'misfire skipped: scheduled_at=2026-11-20T10:05:00Z',
        next_run_at: '2026-11-20T10:06:00Z',
      });
    });

    it('runs nothing twice when the clock goes back, and goes on when it has caught up', async () => {
      await cron.save('back', '60s');
      await cron.tickAt('2026-11-20T10:03:00Z');
      await cron.tickAt('2026-11-20T09:03:00Z');
      await cron.tickAt('2026-11-20T09:30:00Z');
      expect(sent).to.deep.equal(['cron:back:2026-11-20T10:03:00Z']);
      // A new epoch in the repeated hour meets slots that have their rows.
      await cron.save('back', '30s');
      await cron.save('back', '60s');
      for (const time of ['09:31', '10:02', '10:03', '10:04']) await cron.tickAt(`2026-11-20T${time}:00Z`);
      const times = sent.map((key) => key.slice(-9, -4));
      expect(times).to.deep.equal([...new Set(times)]);
      expect(times).to.include.members(['10:03', '09:31', '10:04']);
    });

    it('has no slots while a job is paused, and begins anew when it is resumed', async () => {
      await cron.save('p', '60s');
      cron.clock.set('2026-11-20T10:00:30Z');
      await setPaused(cron.deps, 'p', true);
      await cron.tickAt('2026-11-20T10:05:10Z');
      await setPaused(cron.deps, 'p', false);
      expect(await cron.state('p')).to.deep.equal({
        next_run_at: '2026-11-20T10:06:10Z',
        last_status: 'resumed',
        paused: false,
      });
      expect(await cron.slots('p')).to.deep.equal([]);
    });

    it('claims what is due before a job is paused', async () => {
      await cron.save('due', '60s');
      cron.clock.set('2026-11-20T10:02:30Z');
      await setPaused(cron.deps, 'due', true);
      expect(shown(await cron.slots('due'))).to.deep.equal(['01:00 skipped coalesced', '02:00 queued']);
      await cron.tickAt('2026-11-20T10:02:31Z');
      expect(sent).to.deep.equal(['cron:due:2026-11-20T10:02:00Z']);
    });

    it('fails a slot that finds all leases taken, or lets the newest of them wait', async () => {
      const running: (() => void)[] = [];
      const busy = await testScheduler(engine, (...call) => send(...call), { leaseMs: 3_600_000 });
      send = (_text, key) =>
        new Promise((resolve) => {
          sent.push(key);
          running.push(resolve);
        });
      await busy.save('r', '60s', { runtime: { timeout_seconds: 3_600 } });
      await busy.save('q', '60s', { runtime: { timeout_seconds: 3_600, overlap_policy: 'queue' } });
      for (const minute of [1, 2, 3]) {
        busy.clock.set(`2026-11-20T10:0${minute}:00Z`);
        await busy.tick();
      }
      expect(shown(await busy.slots('r'))).to.deep.equal([
        '01:00 running',
        '02:00 failed overlap',
        '03:00 failed overlap',
      ]);
      expect(shown(await busy.slots('q'))).to.deep.equal(['01:00 running', '02:00 skipped coalesced', '03:00 queued']);
      expect(await busy.state('r')).to.deep.include({
        last_status: 'failed',
        last_error: 'max_concurrency limit reached (1)',
      });
      await until('the effects of both', () => running.length === 2);
      for (const resolve of running) resolve();
      await until('the waiting run', () => sent.includes('cron:q:2026-11-20T10:03:00Z'));
      for (const resolve of running) resolve();
      await until('its end', () => busy.scheduler.running === 0);
      expect(shown(await busy.slots('q')).at(-1)).to.equal('03:00 succeeded');
    });

    it('shares the slots of many jobs with another process, each once', async () => {
      const by: string[][] = [[], []];
      const started = Date.parse('2026-11-20T10:00:00Z');
      const shared = await Promise.all(
        by.map((keys, index) =>
          testScheduler(engine, async (_text, key) => void keys.push(key), {
            id: `p${index}`,
            clock: cron.clock,
            alive: () => ['p0', 'p1'],
          }),
        ),
      );
      for (let job = 0; job < 100; job += 1) await shared[0]?.save(`s${job}`, '1s');
      const expected: string[] = [];
      for (let second = 1; second <= 60; second += 1) {
        const at = new Date(started + second * 1_000).toISOString();
        cron.clock.set(at);
        for (let job = 0; job < 100; job += 1) expected.push(`cron:s${job}:${at.replace('.000Z', 'Z')}`);
        await Promise.all(shared.map((one) => one.tick()));
        await until('the runs of a second', async () => {
          await Promise.all(shared.map(({ scheduler }) => scheduler.started()));
          return by.flat().length >= expected.length && shared.every(({ scheduler }) => scheduler.running === 0);
        });
      }
      expect(by.flat().sort()).to.deep.equal(expected.sort());
      expect(by.map((keys) => keys.length > 100)).to.deep.equal([true, true]);
      for (const { scheduler } of shared) await scheduler.stop(5_000);
    }).timeout(120_000);

    it('keeps running what a suspended process has lost, and lets it write nothing', async () => {
      let resume: () => void = () => undefined;
      send = (_text, key) =>
        new Promise((resolve) => {
          sent.push(key);
          resume = resolve;
        });
      await cron.save('lost', '60s', { runtime: { on_interrupt: 'retry' } });
      cron.clock.set('2026-11-20T10:01:00Z');
      await cron.tick();
      await until('the effect', () => sent.length === 1);
      const other = await testScheduler(engine, async (_text, key) => void sent.push(key), {
        id: 'two',
        clock: cron.clock,
      });
      cron.clock.advance(40);
      await other.tickAt('2026-11-20T10:01:41Z');
      resume();
      await until('both to end', () => cron.scheduler.running === 0 && other.scheduler.running === 0);
      const runs = await cron.runs('lost');
      expect(runs.map(({ status, trigger, owner }) => [status, trigger, owner]).reverse()).to.deep.equal([
        ['interrupted', 'schedule', 'one'],
        ['succeeded', 'recovery', 'two'],
      ]);
      expect(sent).to.deep.equal(['cron:lost:2026-11-20T10:01:00Z', 'cron:lost:2026-11-20T10:01:00Z']);
      expect((await cron.slots('lost'))[0]).to.deep.include({ outcome: 'succeeded', run_id: runs[0]?.run_id });
      expect([runs[1]?.recovered_as, runs[0]?.recovers]).to.deep.equal([runs[0]?.run_id, runs[1]?.run_id]);
    });

    /** Leaves a run of a dead process behind, before or after its effect began. */
    async function crash(id: string, onInterrupt: string, effect: boolean, more: object = {}): Promise<void> {
      await cron.save(id, '60s', { runtime: { on_interrupt: onInterrupt, ...more } });
      const dead = await testScheduler(engine, async () => undefined, { id: 'dead', clock: cron.clock });
      cron.clock.advance(60);
      await import('../store/claim-slots.js').then(({ claimDueSlots }) => claimDueSlots(dead.deps, { aborted: false }));
      const { started } = await startRuns(dead.deps, 16);
      for (const run of started) {
        if (effect) await progressing(dead.deps).submit({ run, effect: true, execution: undefined });
      }
    }

    const recoveries: readonly (readonly [string, boolean, string, string | null, number])[] = [
      ['safe', false, 'succeeded', null, 1],
      ['retry', false, 'succeeded', null, 1],
      ['fail', false, 'failed', 'run interrupted', 0],
      ['safe', true, 'failed', 'run interrupted: outcome unknown', 0],
      ['retry', true, 'succeeded', null, 1],
      ['fail', true, 'failed', 'run interrupted', 0],
    ];
    for (const [policy, effect, outcome, error, times] of recoveries) {
      it(`recovers a run that died ${effect ? 'after' : 'before'} its effect began: ${policy}`, async () => {
        await crash('x', policy, effect);
        await cron.tick();
        await until('the recovery', async () => (await cron.slots('x'))[0]?.outcome === outcome);
        await until('the end', () => cron.scheduler.running === 0);
        expect(sent).to.deep.equal(Array(times).fill('cron:x:2026-11-20T10:01:00Z'));
        const last = (await cron.slots('x'))[0]?.run_id;
        const run = (await cron.runs('x')).find(({ run_id }) => run_id === last);
        expect([run?.error, run?.trigger]).to.deep.equal([error, times === 0 ? 'schedule' : 'recovery']);
        await cron.tickAt('2026-11-20T10:02:00Z');
        expect(shown(await cron.slots('x')).at(-1)).to.equal('02:00 succeeded');
      });
    }

    for (const policy of ['reject', 'queue']) {
      it(`recovers a run before newer slots of its job run, which wait for it: ${policy}`, async () => {
        const ends: (() => void)[] = [];
        const held = await testScheduler(engine, (...call) => send(...call), {
          clock: cron.clock,
          // The process died a moment ago and still counts as alive: its runs are recovered when their leases expire.
          alive: () => ['one', 'dead'],
        });
        send = (_text, key) =>
          new Promise((resolve) => {
            sent.push(key.slice(-9, -1));
            ends.push(resolve);
          });
        await crash('x', 'safe', false, { overlap_policy: policy });
        held.clock.advance(35);
        for (const at of ['10:02:00', '10:02:01']) {
          held.clock.set(`2026-11-20T${at}Z`);
          await held.tick();
        }
        await until('the recovered run', () => sent.length > 0);
        expect(shown(await held.slots('x'))).to.deep.equal(['01:00 running', '02:00 queued']);
        for (const end of ends) end();
        await until('the newer run', () => sent.length > 1);
        for (const end of ends) end();
        await until('its end', () => held.scheduler.running === 0);
        expect(sent).to.deep.equal(['10:01:00', '10:02:00']);
        expect(shown(await held.slots('x'))).to.deep.equal(['01:00 succeeded', '02:00 succeeded']);
        await held.scheduler.stop(5_000);
      });
    }

    it('starts what another process has queued, oldest slot first', async () => {
      for (const [id, seconds] of Object.entries({ a: 5, b: 4, c: 3 })) await cron.save(id, `${seconds}s`);
      cron.clock.advance(5);
      const { claimDueSlots } = await import('../store/claim-slots.js');
      await claimDueSlots({ ...cron.deps, instances: { ...cron.deps.instances, id: 'gone' } }, { aborted: false });
      const { started } = await startRuns(cron.deps, 16);
      expect(started.map(({ row }) => row.job_id)).to.deep.equal(['c', 'b', 'a']);
    });

    it('claims and starts all jobs that are due in one second', async () => {
      for (let index = 0; index < 500; index += 1) await cron.save(`j${index}`, '1h');
      await cron.tickAt('2026-11-20T11:00:00Z');
      const { rows } = await cron.database.statement<{ outcome: string; count: number }>(
        'select outcome, count(*) as count from {cron.slots} group by outcome',
      );
      expect(rows.map(({ outcome, count }) => [outcome, Number(count)])).to.deep.equal([['succeeded', 500]]);
      expect(new Set(sent).size).to.equal(500);
    });

    it('keeps a job whose schedule cannot be computed any more, and says why', async () => {
      await cron.save('old', '60s');
      await cron.database.statement(
        `update {cron.jobs} set spec_json = replace(spec_json, '"interval"', '"cron"'), rev = rev + 1 where job_id = 'old'`,
      );
      await cron.save('other', '60s');
      await cron.tickAt('2026-11-20T10:01:00Z');
      expect(await cron.state('old')).to.deep.equal({
        last_status: 'failed',
        last_error: 'invalid cron expression: expected 5 or 6 fields, found 1',
        paused: false,
      });
      expect(sent).to.deep.equal(['cron:other:2026-11-20T10:01:00Z']);
    });

    it('deletes old runs but the newest hundred of a job, and old rows of the ledger', async () => {
      await cron.save('long', '60s', { runtime: { misfire_policy: 'run_all' } });
      cron.clock.set('2026-11-20T13:00:00Z');
      await cron.tick();
      await until(
        'all runs',
        async () => (await cron.runs('long')).filter(({ status }) => status === 'succeeded').length === 180,
      );
      cron.clock.set('2027-11-22T13:00:00Z');
      const pruned = await prune(cron.deps, { runDays: 90, slotDays: 365 }, new AbortController().signal);
      expect(pruned).to.deep.equal({ runs: 80, slots: 180 });
      expect(await cron.runs('long')).to.have.length(100);
    });
  });
});
