import { rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { listener } from 'mortise/contracts/conversation/testing';
import type { Observation, ObservationInput } from 'mortise/sdk';
import {
  contributing,
  createTestHost,
  gateStageContract,
  localPrincipal,
  type TestHost,
  type TestHostOptions,
  until,
} from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

/** What the routes answer, as far as a test looks at it. */
interface Body extends Json {
  readonly items: readonly Json[];
  readonly decision: Json;
  readonly trace: readonly unknown[];
  readonly totals: { readonly by_reason: Json } & Json;
  readonly error: Json;
  readonly stages: readonly { readonly key: string }[];
  readonly health: Json;
  readonly base: { readonly last_error: { readonly message: string } };
  readonly overrides: { readonly effective: Json };
}

const turns: Observation[] = [];

/** Handles messages instead of the agent. */
const handler = listener(turns, ['message', 'alert'], async () => 'handled');

const noNight = contributing(
  'gate-stage',
  'no-night',
  { slot: 'policy', order: -1 },
  {
    apply: (work) => {
      if (work.observation.payload.text === 'night') work.propose('drop', 'night');
    },
  },
);

gateStageContract('a stage of a test', {
  host: () => createTestHost({ extra: [noNight], listen: false }),
  key: 'no-night',
});

describe('the plugin gate', () => {
  let host: TestHost;

  async function start(options: TestHostOptions = {}): Promise<void> {
    turns.length = 0;
    host = await createTestHost({
      plugins: ['gate', 'conversation'],
      ...options,
      extra: [handler, ...(options.extra ?? [])],
    });
  }

  afterEach(async function stop() {
    await host.stop();
  });

  const message = (text: string, more: Partial<ObservationInput> = {}): ObservationInput => ({
    source_name: 'test',
    ingress: 'adapter',
    session_key: 'console:u1:s1',
    actor: { actor_type: 'user', actor_id: 'u1' },
    payload: { text },
    ...more,
  });

  const submit = (text: string) =>
    host
      .service('conversation')
      .submit(message(text), { wait: { limit: 16, timeoutMs: 5_000 }, principal: localPrincipal });

  const json = async (response: Response | Promise<Response>): Promise<Body> =>
    (await response).json() as Promise<Body>;

  const status = () => json(host.fetch('/gate/status'));

  it('decides before any handler sees an observation', async () => {
    await start();
    expect(await submit('hi')).to.include({ outcome: 'handled', value: 'handled' });
    const blank = await submit('  ');
    expect(blank.outcome).to.equal('refused');
    expect(blank.decision).to.include({ action: 'drop', reason: 'empty_content' });
    expect(turns.map(({ payload }) => payload.text)).to.deep.equal(['hi']);
    expect((await host.control.inspect('conversation')).health).to.deep.equal({ ok: true });
  });

  it('ends a handler of control observations that publishes another one each time', async () => {
    const hops: number[] = [];
    const echo = contributing(
      'observation-handler',
      'echo',
      { types: ['control'] },
      {
        async handle(observation, ctx) {
          hops.push(observation.hop);
          ctx.publish({ obs_type: 'control', source_name: 'test', payload: { kind: 'again', data: {} } });
        },
      },
    );
    await start({ extra: [echo] });
    const first = { obs_type: 'control', source_name: 'test', payload: { kind: 'again', data: {} } } as const;
    host.service('conversation').publish(first, { principal: localPrincipal });
    await until('the alert', () => turns.some(({ payload }) => payload.alert_type === 'loop_hops'));
    expect(hops).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('keeps undelivered observations in pools, with secrets masked', async () => {
    await start({ config: { gate: { version: 1, overrides: { emergency_mode: true } } } });
    const key = `sk-${'a1B2'.repeat(8)}`;
    await submit(`my key is ${key}`);
    await submit('second');
    const pool = await json(host.fetch('/gate/pools/sink?limit=1'));
    expect(pool).to.deep.include({ pool: 'sink', total_seen: 2 });
    expect(pool.items).to.have.length(1);
    expect(pool.items[0]).to.deep.include({ preview: 'second', reason: 'override=emergency', action: 'sink' });
    expect(JSON.stringify(await json(host.fetch('/gate/pools/sink')))).to.not.contain(key);
    expect((await host.fetch('/gate/pools/none')).status).to.equal(404);
    for (const limit of ['0', 'abc', '201']) {
      expect((await host.fetch(`/gate/pools/sink?limit=${limit}`)).status).to.equal(400);
    }
  });

  it('explains a decision without counting it', async () => {
    await start();
    const before = (await status()).totals;
    const explained = await json(host.post('/gate/explain', message('')));
    expect(explained.decision).to.include({ action: 'drop', reason: 'empty_content' });
    expect(explained.trace).to.have.length(7);
    expect((await status()).totals).to.deep.equal(before);
    const wrong = await host.post('/gate/explain', { source_name: '', payload: {}, confidence: 2 });
    expect(wrong.status).to.equal(400);
    const { error } = await json(wrong);
    expect(error).to.include({ code: 'invalid_observation' });
    expect((await host.post('/gate/explain', [])).status).to.equal(400);
    // Like the real entry point.
    for (const body of [{ payload: { text: 'hi' } }, { ...message('hi'), session_key: 's'.repeat(300) }]) {
      const answers = await Promise.all(['/gate/explain', '/observations'].map((path) => host.post(path, body)));
      const [explained, taken] = (await Promise.all(answers.map((answer) => answer.json()))) as Body[];
      expect(explained?.error).to.include({ code: 'invalid_observation' });
      expect(explained?.error).to.deep.equal(taken?.error);
    }
  });

  it('reports the effective configuration and the state of its stages', async () => {
    await start({ extra: [noNight] });
    expect(await submit('night')).to.include({ outcome: 'refused' });
    const { ok, source, stages, totals, health, egress } = await status();
    expect({ ok, source }).to.deep.equal({ ok: true, source: 'defaults' });
    expect(stages.map(({ key }) => key)).to.deep.equal([
      'scene',
      'hard-bypass',
      'feature',
      'scoring',
      'dedup',
      'no-night',
      'policy',
      'finalize',
    ]);
    expect(totals).to.include({ dropped: 1 });
    expect(health).to.include({ overload: false, bus_capacity: 1000 });
    // Also those that have sent nothing yet.
    expect(egress).to.deep.equal([
      { adapter: 'console', depth: 0, sent: 0, failed: 0, timed_out: 0, dropped: 0, suppressed: 0 },
    ]);
  });

  it('adds and removes a contributed stage from the next observation on', async () => {
    await start({ extra: [noNight] });
    expect(await submit('night')).to.include({ outcome: 'refused' });
    await host.control.disable('no-night');
    expect(await submit('night')).to.include({ outcome: 'handled' });
  });

  it('applies a changed file, also one with the same size and mtime', async () => {
    await start({ config: { gate: { version: 1, scenes: { dialogue: { deliver_threshold: 0.8 } } } } });
    const file = join(host.configDir, 'gate.json');
    const before = await status();
    expect(before).to.deep.include({ source: 'file', revision: 1 });
    const at = new Date('2026-01-01T00:00:00Z');
    const write = async (threshold: string) => {
      await writeFile(file, `{"version":1,"scenes":{"dialogue":{"deliver_threshold":${threshold}}}}`);
      await utimes(file, at, at);
    };
    await write('.80'.replace('.', '0.'));
    await json(host.post('/gate/config/reload', {}));
    const { revision } = await status();
    await write('0.95');
    expect(await json(host.post('/gate/config/reload', {}))).to.deep.equal({
      changed: true,
      revision: Number(revision) + 1,
      error: null,
    });
    expect(host.service('gate-control').snapshot().config.scenes.dialogue.deliver_threshold).to.equal(0.95);
  });

  it('detects a changed file by polling', async () => {
    await start({ env: { MORTISE_GATE_RELOAD_MS: '20' } });
    await writeFile(
      join(host.configDir, 'gate.json'),
      JSON.stringify({ version: 1, overrides: { drop_actors: ['u1'] } }),
    );
    await until('the list', () => host.service('gate-control').snapshot().config.overrides.drop_actors.length === 1);
    expect((await submit('hi')).decision).to.include({ reason: 'override=drop_actor' });
  });

  it('keeps the old configuration when the file is invalid, and reports the error', async () => {
    await start({ config: { gate: { version: 1, overrides: { drop_actors: ['u1'] } } } });
    const file = join(host.configDir, 'gate.json');
    const cases: [string, string][] = [
      ['{"version":2}', 'version'],
      ['{', 'JSON'],
      ['{"version":1,"overrides":{"emergancy_mode":true}}', 'emergency_mode'],
      ['{"version":1,"scenes":{"dialogue":{"sink_threshold":0.9}}}', 'sink_threshold'],
    ];
    for (const [text, word] of cases) {
      await writeFile(file, text);
      await json(host.post('/gate/config/reload', {}));
      const { ok, base, overrides } = await status();
      expect(ok, text).to.equal(false);
      expect(base.last_error.message).to.contain(word);
      expect(overrides.effective).to.deep.include({ drop_actors: ['u1'] });
      const { health } = await host.control.inspect('gate');
      expect(health?.ok).to.equal(false);
    }
    const alerts = () => turns.filter(({ payload }) => payload.alert_type === 'gate_config_invalid');
    await until('the alerts', () => alerts().length === cases.length);
    await json(host.post('/gate/config/reload', {}));
    expect(alerts()).to.have.length(cases.length);
    await writeFile(file, '{"version":1}');
    await json(host.post('/gate/config/reload', {}));
    expect(await status()).to.include({ ok: true });
  });

  it('reports the error of the current content, not of an earlier one', async () => {
    await start({ config: { gate: { version: 1 } } });
    const file = join(host.configDir, 'gate.json');
    const errorOf = async (text: string | undefined) => {
      await (text === undefined ? rm(file) : writeFile(file, text));
      const reloaded = await json(host.post('/gate/config/reload', {}));
      const { base } = await status();
      expect(reloaded.error).to.equal(base.last_error?.message ?? null);
      return base.last_error?.message;
    };
    const unseen = '{"version":1,"overload":{"bus_on":0.5,"bus_off":0.7}}';
    expect(await errorOf(unseen)).to.contain('bus_off');
    expect(await errorOf('{"version":2}')).to.contain('version');
    expect(await errorOf(unseen)).to.contain('bus_off');
    expect(await errorOf(undefined)).to.equal(undefined);
    expect(await errorOf(unseen)).to.contain('bus_off');
  });

  it('starts with defaults when the file is invalid at start', async () => {
    await start({ config: { gate: { version: 1, budgets: { thresholds: { high: 0.1 } } } } });
    expect(await submit('hi')).to.include({ outcome: 'handled' });
    expect(await status()).to.include({ ok: false });
    expect(host.service('gate-control').snapshot().config.budgets.thresholds.high).to.equal(0.75);
  });

  it('exposes metrics without user data', async () => {
    await start();
    await submit('hi');
    const text = await host.app.metrics.render();
    expect(text).to.match(/mortise_gate_processed_total\{[^}]*scene="dialogue"[^}]*action="deliver"[^}]*\} 1/);
    expect(text).to.match(/mortise_gate_reason_total\{[^}]*reason="message_default"[^}]*\} 1/);
    expect(text).to.match(
      /mortise_gate_decisions_total\{[^}]*action="deliver"[^}]*scene="dialogue"[^}]*reason="message_default"[^}]*\} 1/,
    );
    expect(text).to.contain('mortise_gate_pipeline_seconds_count');
    expect(text).to.contain('mortise_gate_stage_seconds');
    expect(text).to.not.contain('console:u1');
  });

  it('reports the stop switches to a proxy', async () => {
    await start({ config: { gate: { version: 1, overrides: { drop_actors: ['u1'], emergency_mode: true } } } });
    const { stopped } = host.service('gate-control');
    expect([stopped('u1'), stopped('u2'), stopped(undefined)]).to.deep.equal([
      'drop_actor',
      'emergency_mode',
      'emergency_mode',
    ]);
  });
});
