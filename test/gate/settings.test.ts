import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';

/** Variables of the conversation: a valid value, one of the wrong type, and one out of range. */
const numbers: readonly (readonly [name: string, right: string, outside: string, bounds: RegExp])[] = [
  ['MORTISE_BUS_CAPACITY', '50', '0', /1/],
  ['MORTISE_SESSION_INBOX_CAPACITY', '5', '0', /1/],
  ['MORTISE_SESSION_IDLE_TTL_SECONDS', '0.05', '0', /0/],
  ['MORTISE_SESSION_IDLE_SWEEP_SECONDS', '0.05', '0', /0\.02/],
  ['MORTISE_SESSION_IDLE_MIN', '2', '0', /1/],
  ['MORTISE_MAX_CONCURRENT_TURNS', '4', '0', /1/],
  ['MORTISE_TICK_SECONDS', '0', '-1', /0/],
  ['MORTISE_EGRESS_QUEUE', '3', '0', /1/],
  ['MORTISE_EGRESS_TIMEOUT_MS', '500', '1', /10/],
  ['MORTISE_EGRESS_DRAIN_MS', '0', '-1', /0/],
];

const words = [
  ['MORTISE_MESSAGE_ROUTING', 'default', 'sideways'],
  ['MORTISE_GATE_PERSISTENCE', 'sql', 'paper'],
] as const;

describe('the variables of the gate', () => {
  let host: TestHost;

  afterEach(async function stop() {
    await host.stop();
  });

  const start = async (env: Readonly<Record<string, string>>) => {
    host = await createTestHost({ plugins: ['reflex'], env, listen: false });
  };
  const states = () => Object.fromEntries(host.control.list().map(({ key, state }) => [key, state]));
  const messages = async (key: string) => (await host.control.inspect(key)).message;

  it('are applied together when they are valid', async () => {
    const right = Object.fromEntries([...numbers, ...words].map(([name, value]) => [name, value]));
    await start({ ...right, MORTISE_SYSTEM_FANOUT: 'true' });
    expect(states()).to.include({ conversation: 'active', gate: 'active', reflex: 'active' });
  });

  for (const [name, , outside, bounds] of numbers) {
    it(`block their plugin with a message: ${name}`, async () => {
      await start({ [name]: 'many' });
      expect(states()).to.include({ conversation: 'blocked', gate: 'active' });
      expect(await messages('conversation'))
        .to.contain(name)
        .and.contain('many');
      await host.stop();
      await start({ [name]: outside });
      expect(states()).to.include({ conversation: 'blocked' });
      expect(await messages('conversation'))
        .to.contain(name)
        .and.contain(outside)
        .and.match(bounds);
    });
  }

  for (const [name, , wrong] of words) {
    it(`must be one of the allowed words: ${name}`, async () => {
      await start({ [name]: wrong });
      expect(states()).to.include({ conversation: 'blocked' });
      expect(await messages('conversation'))
        .to.contain(name)
        .and.contain(wrong);
    });
  }

  it('keep the gate running, with an alert, when the reload interval is invalid', async () => {
    await start({ MORTISE_GATE_RELOAD_MS: 'often' });
    expect(states()).to.include({ conversation: 'active', gate: 'active' });
    const { health } = await host.control.inspect('gate');
    expect(health?.ok).to.equal(false);
    expect(health?.detail).to.contain('MORTISE_GATE_RELOAD_MS is "often"');
    const findings = await host.control.doctor('gate');
    expect(findings.map(({ severity, code }) => [severity, code])).to.deep.include(['warning', 'invalid_config']);
    // Also after the file was read.
    await writeFile(join(host.configDir, 'gate.json'), '{"version":1,"bot_names":["robot"]}');
    const names = () => host.service('gate-control').snapshot().config.bot_names;
    await until('the file', () => names()[0] === 'robot');
    expect(names()).to.deep.equal(['robot']);
    expect((await host.control.inspect('gate')).health?.ok).to.equal(false);
  });

  it('select another file for the gate', async () => {
    await start({ MORTISE_GATE_CONFIG: 'elsewhere.json' });
    await writeFile(join(host.dataDir, 'elsewhere.json'), '{"version":1,"bot_names":["robot"]}');
    const names = () => host.service('gate-control').snapshot().config.bot_names;
    await until('the file', () => names()[0] === 'robot');
    expect(names()).to.deep.equal(['robot']);
  });

  it('select the session of messages without one', async () => {
    await start({ MORTISE_MESSAGE_ROUTING: 'default' });
    const published = host.service('conversation').preview({
      source_name: 'test',
      actor: { actor_id: 'u1' },
      payload: { text: 'hi' },
    });
    expect(published.ok && published.observation.session_key).to.equal('console:u1:default');
  });
});
