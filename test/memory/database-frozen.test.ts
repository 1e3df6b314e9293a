import { expect } from 'chai';
import type { MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { freezePostgres, ownPostgres, testDialects, until } from 'mortise/sdk/testing';
import { memoryPlugins, startMemory } from './memory-host.js';

const describeOnPostgres = testDialects().includes('postgres') ? describe : () => {};

/** Time limit of a tool. */
const toolLimitMs = 30_000;

describeOnPostgres('memories while the database is frozen', function frozen() {
  this.timeout(90_000);
  let server: Awaited<ReturnType<typeof ownPostgres>>;
  let memory: MemoryHost;

  before(async () => {
    server = await ownPostgres();
    const database = { DATABASE_HOST: '127.0.0.1', DATABASE_PORT: String(server.port), DATABASE_NAME: 'postgres' };
    memory = await startMemory({ env: database }, { database, plugins: [...memoryPlugins, 'memory-outbox'] });
  });
  // Before the hook that stops, which would hang if a test timed out before it thawed the database.
  let thaw = (): void => {};
  afterEach(() => thaw());
  after(async () => {
    await memory.stop();
    await server.dispose();
  });

  it('are refused as without a database, within the time limit of a tool, and can safely be stored again', async () => {
    const bodies = Array.from({ length: 12 }, (_, index) => ({
      payload_md: `While it was frozen, ${index}`,
      target_space: 'private:frozen',
    }));
    const kept = await memory.store({ payload_md: 'Before it was frozen', target_space: 'private:frozen' });
    // In flight when the database freezes, some of them in the middle of a commit.
    const inFlight = bodies.slice(0, 6).map((body) => memory.store(body));
    ({ thaw } = await freezePostgres(memory.database));
    const inTime = async <T>(answer: Promise<T>): Promise<T> => {
      const began = performance.now();
      const given = await answer;
      expect(performance.now() - began).to.be.lessThan(toolLimitMs);
      return given;
    };
    const answers = await inTime(Promise.all([...inFlight, ...bodies.slice(6).map((body) => memory.store(body))]));
    for (const { status, body } of answers.slice(6)) {
      expect(status).to.equal(503);
      expect(body).to.include({ ok: false, action: 'error', reason: 'LOGBOOK_DB_UNAVAILABLE' });
    }
    for (const [tool, args] of [
      ['memory_store', bodies[0] ?? {}],
      ['memory_query', { query: 'still', spaces: ['private:frozen'] }],
      ['reliability_report', {}],
    ] as const) {
      const { error } = await inTime(memory.call(tool, args));
      expect(error?.data, tool).to.deep.include({ reason: 'LOGBOOK_DB_UNAVAILABLE', retryable: true });
    }
    const asked = performance.now();
    expect((await memory.get('/health?deep=1')).status).to.equal(503);
    expect(performance.now() - asked).to.be.lessThan(8_000);
    thaw();

    for (const body of bodies) {
      let again = await memory.store(body);
      await until('the database answers', async () => {
        if (again.status !== 200) again = await memory.store(body);
        return again.status === 200;
      });
      expect(again.body).to.deep.include({ ok: true, action: 'allow' });
    }
    // Each is stored once, whatever the outcome of the unanswered store.
    const { rows } = await memory.database.statement<{ n: number; texts: number }>(
      `select count(*) as n, count(distinct payload_md) as texts from {logbook.memories} where space = 'private:frozen'`,
    );
    expect(rows).to.deep.equal([{ n: bodies.length + 1, texts: bodies.length + 1 }]);
    expect(
      (await memory.store({ payload_md: 'Before it was frozen', target_space: 'private:frozen' })).body,
    ).to.include({
      memory_id: kept.body.memory_id,
      dedup: true,
    });
    expect((await memory.get('/reliability/report')).body).to.include({ ok: true, message: null });
  });
});
