import { expect } from 'chai';
import { planFaults } from '../plan/faults.js';
import { planKills, shareKills } from '../plan/kills.js';
import { landingOf, type MemoryInput } from '../plan/memory-input.js';
import { planRequests } from '../plan/requests.js';

function first<T>(count: number, items: Iterable<T>): T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.push(item) === count) break;
  }
  return taken;
}

/** The plan that one seed determines. */
function plan(seed: number) {
  return {
    kills: [0, 1].map((slot) => planKills({ seed, slot, count: 200, life: 20 })),
    faults: first(200, planFaults(seed)),
    requests: [0, 1, 2].map((client) => first(200, planRequests(seed, client))),
  };
}

describe('a plan of chaos', () => {
  it('is the same for the same seed, and differs between seeds', () => {
    expect(plan(7)).to.deep.equal(plan(7));
    for (const [name, part] of Object.entries(plan(7))) {
      expect(plan(8)[name as keyof ReturnType<typeof plan>], name).not.to.deep.equal(part);
    }
  });

  it('gives every process and every client an independent sequence', () => {
    const { kills, requests } = plan(7);
    expect(kills[0]).not.to.deep.equal(kills[1]);
    expect(requests[0]).not.to.deep.equal(requests[1]);
  });

  it('kills while starting and while serving, but never three starts in a row', () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const phases = planKills({ seed, slot: 0, count: 200, life: 20 }).map(({ phase }) => phase);
      expect(phases).to.have.length(200);
      expect(phases[0]).to.equal('serving');
      expect(phases.join(' ')).not.to.contain('boot boot boot');
      expect(phases.filter((phase) => phase === 'boot').length).to.be.within(5, 60);
    }
  });

  it('has every kind of fault, with periods without one in between', () => {
    const names = first(600, planFaults(3)).map(({ name }) => name);
    expect(names.filter((_, index) => index % 2 === 0).every((name) => name === 'calm')).to.equal(true);
    expect([...new Set(names)]).to.include.members([
      '500',
      '500 applied',
      'timeout applied',
      'duplicate',
      'truncated',
      'slow',
      'late',
      'down',
    ]);
  });

  it('covers every kind of space, with and without evidence, actor and item, and predicts the policy decision', () => {
    const inputs = first(400, planRequests(1, 0)).map(({ memory }) => memory);
    for (const has of [
      (memory: MemoryInput) => memory.evidence.length > 0,
      (memory: MemoryInput) => memory.evidenceRefs.length > 0,
      (memory: MemoryInput) => memory.actor !== null,
      (memory: MemoryInput) => memory.itemId !== null,
      (memory: MemoryInput) => memory.space.startsWith('team:'),
      (memory: MemoryInput) => memory.space.startsWith('org:'),
      (memory: MemoryInput) => landingOf(memory) !== memory.space,
    ]) {
      expect(inputs.filter(has).length).to.be.within(20, 380);
    }
    const [memory] = inputs;
    const shared = {
      ...(memory as MemoryInput),
      space: 'team:a',
      kind: 'DECISION',
      actor: 'ada',
      evidence: [],
      evidenceRefs: ['x'],
    };
    expect(landingOf(shared)).to.equal('team:a');
    expect(landingOf({ ...shared, kind: 'FACT' })).to.equal('private:ada');
    expect(landingOf({ ...shared, evidenceRefs: [], actor: null })).to.equal('private:unknown');
    expect(landingOf({ ...shared, space: 'private:b', kind: 'FACT' })).to.equal('private:b');
  });

  it('distributes all kills, most where the backend misbehaves', () => {
    const shares = (kills: number) =>
      shareKills(kills, ['sqlite', 'postgres'], ['openmemory', 'local']).map((share) => share.kills);
    expect(shares(200)).to.deep.equal([80, 20, 80, 20]);
    for (const kills of [0, 1, 7, 33]) expect(shares(kills).reduce((sum, share) => sum + share, 0)).to.equal(kills);
    expect(shareKills(9, ['sqlite'], ['local'])).to.deep.equal([{ database: 'sqlite', backend: 'local', kills: 9 }]);
  });

  it('repeats some requests exactly, and sends some twice concurrently', () => {
    const requests = first(500, planRequests(1, 0));
    const texts = requests.map(({ memory }) => memory.text);
    expect(texts.length - new Set(texts).size).to.be.within(20, 150);
    expect(requests.filter(({ isDuplicated }) => isDuplicated).length).to.be.within(5, 80);
    for (const { memory } of requests) {
      const same = requests.filter((one) => one.memory.text === memory.text);
      for (const one of same) expect(one.memory).to.deep.equal(memory);
    }
  });
});
