import { expect } from 'chai';
import type { GateDecision } from 'mortise/contracts/gate';
import { Pools } from '../pools.js';
import { says } from './fixture.js';

const decision = { action: 'drop', reason: 'r', reasons: ['r'], scene: 'dialogue', session_key: 's', trace_id: 't' };

function drop(pools: Pools, text: string): string {
  const observation = says(text);
  pools.ingest([{ pool: 'drop', observation, decision: decision as GateDecision }]);
  return observation.obs_id;
}

describe('a pool', () => {
  it('keeps the newest 200 entries, newest first, and counts all', () => {
    const pools = new Pools(() => 0);
    for (let index = 0; index < 450; index += 1) drop(pools, `m${index}`);
    expect(pools.total('drop')).to.equal(450);
    expect(pools.recent('drop', 200).map(({ preview }) => preview)).to.deep.equal(
      Array.from({ length: 200 }, (_, index) => `m${449 - index}`),
    );
    expect(pools.recent('drop')).to.have.length(20);
    expect(pools.recent('sink')).to.deep.equal([]);
  });

  it('shows 200 characters of a text with secrets masked', () => {
    const pools = new Pools(() => 0);
    drop(pools, '😀'.repeat(300));
    expect([...(pools.recent('drop')[0]?.preview ?? '')]).to.have.length(200);
    const secret = `sk-${'a1B2'.repeat(8)}`;
    drop(pools, `${'x'.repeat(190)} ${secret}`);
    expect(pools.recent('drop')[0]?.preview).to.not.contain(secret.slice(0, 9));
  });

  it('hands out an entry once, and again after an undo', async () => {
    const pools = new Pools(() => 0);
    const obsId = drop(pools, 'x');
    const taken = await pools.take('drop', obsId);
    expect(taken).to.include({ ok: true });
    expect(await pools.take('drop', obsId)).to.deep.equal({ ok: false, reason: 'already_released' });
    if (taken.ok) await taken.undo();
    expect(await pools.take('drop', obsId)).to.include({ ok: true });
    expect(await pools.take('sink', obsId)).to.deep.equal({ ok: false, reason: 'not_found' });
  });
});
