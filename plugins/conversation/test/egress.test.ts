import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Observation } from 'mortise/sdk';
import { until } from 'mortise/sdk/testing';
import { type EgressAdapter, EgressHub, type EgressHubDeps } from '../egress/egress-hub.js';

const adapters: readonly EgressAdapter[] = [
  { key: 'first', default: true },
  { key: 'second', default: true },
  { key: 'bound' },
  { key: 'alarm', accepts: ['alert'] },
];

function reply(text: string, metadata: object = {}, sessionKey = 'console:u1:s1'): Observation {
  return {
    obs_id: text,
    obs_type: 'message',
    source_name: 'agent:speaker',
    session_key: sessionKey,
    payload: { text },
    metadata,
  } as unknown as Observation;
}

function testHub(send: EgressHubDeps['send'], more: Partial<EgressHubDeps> = {}) {
  const sent: string[] = [];
  const failed: string[] = [];
  const full: string[] = [];
  const undelivered: string[] = [];
  const hub = new EgressHub({
    capacity: 256,
    adapters: () => adapters,
    channels: () => [],
    channelOf: () => undefined,
    coolingDown: () => false,
    send: async (adapter, observation) => {
      await send(adapter, observation);
      sent.push(`${adapter} ${observation.obs_id}`);
    },
    failed: (adapter) => failed.push(adapter),
    full: (adapter) => full.push(adapter),
    undelivered: (adapter, { waiting, handedOver }) => {
      if (handedOver) undelivered.push(`${adapter} (${handedOver.obs_id})`);
      undelivered.push(...waiting.map(({ obs_id }) => `${adapter} ${obs_id}`));
    },
    count: () => undefined,
    ...more,
  });
  return { hub, sent, failed, full, undelivered };
}

const works = async (): Promise<void> => undefined;

describe('egress', () => {
  it('sends messages of agents, and none of people or the platform', async () => {
    const { hub, sent } = testHub(works);
    hub.enqueue(reply('a'));
    hub.enqueue({ ...reply('b'), source_name: 'test' });
    hub.enqueue({ ...reply('c'), source_name: 'test', metadata: { direction: 'outbound' } });
    hub.enqueue({ ...reply('d'), obs_type: 'system' });
    hub.enqueue({ ...reply('e'), obs_type: 'alert', source_name: 'gate:x' });
    await hub.close(1_000);
    expect(sent).to.have.members(['first a', 'second a', 'first c', 'second c', 'alarm e']);
  });

  it('lists adapters before their first send, and after they are withdrawn', async () => {
    let there = adapters.slice(0, 2);
    const { hub } = testHub(works, { adapters: () => there, channels: () => ['channel:qq'] });
    const names = () => hub.status().map(({ adapter }) => adapter);
    expect(names()).to.deep.equal(['first', 'second', 'channel:qq']);
    expect(hub.status()[0]).to.deep.equal({
      adapter: 'first',
      depth: 0,
      sent: 0,
      failed: 0,
      timed_out: 0,
      dropped: 0,
      suppressed: 0,
    });
    hub.enqueue(reply('a'));
    there = adapters.slice(1, 2);
    await until('the send', () => hub.status().some(({ adapter, sent }) => adapter === 'first' && sent === 1));
    expect(names()).to.deep.equal(['second', 'channel:qq', 'first']);
    there = [];
    expect(names()).to.have.members(['channel:qq', 'first', 'second']);
  });

  it('sends alerts to adapters that accept them, in addition to messages', async () => {
    const { hub, sent } = testHub(works, { adapters: () => [{ key: 'both', default: true, accepts: ['alert'] }] });
    hub.enqueue(reply('a'));
    hub.enqueue({ ...reply('b'), obs_type: 'alert', source_name: 'gate:x' });
    await hub.close(1_000);
    expect(sent).to.deep.equal(['both a', 'both b']);
  });

  it('sends to the bound adapters of a session instead of the defaults, once each', async () => {
    const { hub, sent } = testHub(works);
    for (const _ of [1, 2]) hub.bind('console:u1:s1', 'bound');
    hub.enqueue(reply('a'));
    hub.enqueue(reply('b', {}, 'console:u1:other'));
    hub.unbind('console:u1:s1', 'bound');
    hub.enqueue(reply('c'));
    await hub.close(1_000);
    expect(sent).to.have.members(['bound a', 'first b', 'second b', 'first c', 'second c']);
  });

  it('skips the face that has answered already', async () => {
    const { hub, sent } = testHub(works);
    hub.enqueue(reply('a', { answered_by: 'console' }));
    hub.bind('console:u1:s1', 'bound');
    hub.bind('console:u1:s1', 'channel:console');
    hub.enqueue(reply('b', { answered_by: 'console' }));
    await hub.close(1_000);
    expect(sent).to.deep.equal(['bound b']);
  });

  it('sends through the channel of the session', async () => {
    const { hub, sent } = testHub(works, { channelOf: () => 'channel:qq' });
    hub.enqueue(reply('a'));
    await hub.close(1_000);
    expect(sent).to.deep.equal(['channel:qq a']);
  });

  it('sends every reply once to adapters that are everywhere, in addition to its other receivers', async () => {
    const { hub, sent } = testHub(works, {
      adapters: () => [...adapters, { key: 'all', everywhere: true }, { key: 'both', everywhere: true, default: true }],
    });
    hub.bind('console:u1:bound', 'bound');
    hub.bind('console:u1:bound', 'all');
    hub.enqueue(reply('a'));
    hub.enqueue(reply('b', {}, 'console:u1:bound'));
    hub.enqueue(reply('c', { answered_by: 'console' }));
    hub.enqueue({ ...reply('d'), obs_type: 'alert', source_name: 'gate:x' });
    await hub.close(1_000);
    const at = (name: string): string[] =>
      sent.filter((one) => one.endsWith(` ${name}`)).map((one) => one.slice(0, -2));
    expect(at('a')).to.have.members(['first', 'second', 'all', 'both']);
    expect(at('b')).to.have.members(['bound', 'all', 'both']);
    expect(at('c')).to.have.members(['all', 'both']);
    expect(at('d')).to.have.members(['alarm']);
  });

  it('keeps the order, and a failing adapter does not affect the others', async () => {
    const { hub, sent, failed } = testHub(async (adapter) => {
      if (adapter === 'first') throw new Error('broken');
    });
    const names = Array.from({ length: 50 }, (_, index) => String(index));
    for (const name of names) hub.enqueue(reply(name));
    await hub.close(1_000);
    expect(sent).to.deep.equal(names.map((name) => `second ${name}`));
    expect(failed).to.have.length(50);
    expect(hub.status()[0]).to.include({ adapter: 'first', failed: 50, sent: 0 });
  });

  it('neither waits nor throws, and refuses the newest when a queue is full', async () => {
    let finish: () => void = () => undefined;
    const { hub, sent, full } = testHub(
      (adapter) =>
        adapter === 'first'
          ? new Promise<void>((resolve) => {
              finish = resolve;
            })
          : works(),
      { capacity: 3 },
    );
    hub.enqueue(reply('0'));
    await until('the first send', () => hub.status()[0]?.depth === 0);
    for (const name of ['1', '2', '3', '4', '5']) {
      hub.enqueue(reply(name));
      await sleep(1);
    }
    // Reported once, until there is room again.
    expect(full).to.deep.equal(['first']);
    expect(hub.status()[0]).to.include({ adapter: 'first', depth: 3, dropped: 2 });
    expect(sent).to.deep.equal(['0', '1', '2', '3', '4', '5'].map((name) => `second ${name}`));
    finish();
  });

  it('skips adapters that are cooling down', async () => {
    const { hub, sent } = testHub(works, { coolingDown: (adapter) => adapter === 'first' });
    hub.enqueue(reply('a'));
    await hub.close(1_000);
    expect(sent).to.deep.equal(['second a']);
    expect(hub.status()[0]).to.include({ adapter: 'first', suppressed: 1 });
  });

  it('closes within the limit, and reports what was not sent and what was not confirmed', async () => {
    const { hub, undelivered } = testHub((adapter) =>
      adapter === 'first' ? sleep(10_000, undefined, { ref: false }) : works(),
    );
    for (const name of ['0', '1', '2', '3', '4']) hub.enqueue(reply(name));
    const from = performance.now();
    await hub.close(50);
    expect(performance.now() - from).to.be.below(8_000);
    // A drained plugin is stopped as well: nothing is reported twice.
    await hub.close(50);
    expect(undelivered).to.deep.equal(['first (0)', ...['1', '2', '3', '4'].map((name) => `first ${name}`)]);
    hub.enqueue(reply('late'));
    expect(hub.status()[0]).to.include({ depth: 0 });
  });
});
