import { expect } from 'chai';
import { planKills } from '../plan/kills.js';
import { planRequests } from '../plan/requests.js';
import { shareKills } from '../plan/share-kills.js';
import { planSpells } from '../plan/spells.js';
import { landingOf, type Wish } from '../plan/wish.js';

function first<T>(count: number, items: Iterable<T>): T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.push(item) === count) break;
  }
  return taken;
}

/** All that one seed decides. */
function plan(seed: number) {
  return {
    kills: [0, 1].map((slot) => planKills({ seed, slot, count: 200, life: 20 })),
    spells: first(200, planSpells(seed)),
    requests: [0, 1, 2].map((client) => first(200, planRequests(seed, client))),
  };
}

describe('a plan of chaos', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(plan(7)).to.deep.equal(plan(7));
    for (const [name, part] of Object.entries(plan(7))) {
      expect(plan(8)[name as keyof ReturnType<typeof plan>], name).not.to.deep.equal(part);
    }
  });

  it('gives every process and every client a fate of its own', () => {
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

  it('has every kind of trouble, with calm in between', () => {
    const names = first(600, planSpells(3)).map(({ name }) => name);
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

  it('asks for every kind of space, with and without evidence, actor and item, and knows where it lands', () => {
    const wishes = first(400, planRequests(1, 0)).map(({ wish }) => wish);
    for (const has of [
      (wish: Wish) => wish.evidence.length > 0,
      (wish: Wish) => wish.evidenceRefs.length > 0,
      (wish: Wish) => wish.actor !== null,
      (wish: Wish) => wish.itemId !== null,
      (wish: Wish) => wish.space.startsWith('team:'),
      (wish: Wish) => wish.space.startsWith('org:'),
      (wish: Wish) => landingOf(wish) !== wish.space,
    ]) {
      expect(wishes.filter(has).length).to.be.within(20, 380);
    }
    const [wish] = wishes;
    const shared = {
      ...(wish as Wish),
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

  it('shares all kills out, most where the backend misbehaves', () => {
    const shares = (kills: number) =>
      shareKills(kills, ['sqlite', 'postgres'], ['openmemory', 'local']).map((share) => share.kills);
    expect(shares(200)).to.deep.equal([80, 20, 80, 20]);
    for (const kills of [0, 1, 7, 33]) expect(shares(kills).reduce((sum, share) => sum + share, 0)).to.equal(kills);
    expect(shareKills(9, ['sqlite'], ['local'])).to.deep.equal([{ database: 'sqlite', backend: 'local', kills: 9 }]);
  });

  it('repeats some requests word for word, and sends some twice at once', () => {
    const requests = first(500, planRequests(1, 0));
    const texts = requests.map(({ wish }) => wish.text);
    expect(texts.length - new Set(texts).size).to.be.within(20, 150);
    expect(requests.filter(({ isDoubled }) => isDoubled).length).to.be.within(5, 80);
    for (const { wish } of requests) {
      const same = requests.filter((one) => one.wish.text === wish.text);
      for (const one of same) expect(one.wish).to.deep.equal(wish);
    }
  });
});
