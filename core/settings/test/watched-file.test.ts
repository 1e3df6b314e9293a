import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../sdk/testing/index.js';
import { WatchedFile } from '../watched-file.js';

describe('a watched file', () => {
  it('is compared by content for two seconds after a load, then only every ten seconds while its timestamps are the same', async () => {
    const path = join(temporaryFolder('watched'), 'gate.json');
    let now = Date.now();
    let reads = 0;
    writeFileSync(path, '{"a":1}');
    const file = new WatchedFile(path, () => {
      reads += 1;
      return now;
    });
    const stamp = new Date(now);
    utimesSync(path, stamp, stamp);
    expect(await file.look()).to.include({ kind: 'text', text: '{"a":1}' });
    // Every poll reads the clock once, and once more after reading the file.
    reads = -20;
    for (let second = 0; second < 20; second += 1) {
      await file.look();
      now += 1_000;
    }
    expect(reads).to.equal(4);
  });
});
