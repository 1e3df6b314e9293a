import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../sdk/testing/index.js';
import { WatchedFile } from '../watched-file.js';

describe('a watched file', () => {
  it('is compared byte by byte for two seconds after a load, then only every ten seconds while its stamp is the same', async () => {
    const path = join(temporaryFolder('watched'), 'gate.json');
    let now = Date.now();
    writeFileSync(path, '{"a":1}');
    const file = new WatchedFile(path, () => now);
    const stamp = new Date(now);
    utimesSync(path, stamp, stamp);
    expect(await file.look()).to.include({ kind: 'text', text: '{"a":1}' });
    let reads = 0;
    const { mustHash } = file as unknown as { mustHash(): boolean };
    Object.assign(file, {
      mustHash: () => {
        const must = mustHash.call(file);
        if (must) reads += 1;
        return must;
      },
    });
    for (let second = 0; second < 20; second += 1) {
      await file.look();
      now += 1_000;
    }
    expect(reads).to.equal(4);
  });
});
