/**
 * The memory backend in a process of its own, so that nothing that happens to the product happens to it. What it
 * applies is in its journal before anybody is told. Its parent scripts its faults by messages.
 */
import { parseArgs } from 'node:util';
import {
  type FakeCall,
  type FakeDialect,
  type FakeFault,
  startFakeOpenMemory,
} from 'mortise/contracts/memory-backend-openmemory/testing';

/** What the parent may ask; each is answered with its number. */
export type BackendWish = { readonly number: number } & (
  | { readonly wish: 'fail'; readonly call: FakeCall | 'any'; readonly fault: FakeFault }
  | { readonly wish: 'be-well' | 'listen' | 'refuse-connections' }
);

export type BackendSaid = { readonly origin: string } | { readonly done: number };

const { values } = parseArgs({
  options: { dialect: { type: 'string' }, journal: { type: 'string' } },
});
const fake = await startFakeOpenMemory({
  dialect: values.dialect as FakeDialect,
  ...(values.journal === undefined ? {} : { journalFile: values.journal }),
});

async function grant(asked: BackendWish): Promise<void> {
  switch (asked.wish) {
    case 'fail':
      return fake.failAlways(asked.call, asked.fault);
    case 'be-well':
      return fake.clearFaults();
    case 'listen':
      return fake.start();
    case 'refuse-connections':
      return fake.stop();
  }
}

function say(said: BackendSaid): void {
  process.send?.(said);
}

process.on('message', (asked: BackendWish) => {
  void grant(asked).then(() => say({ done: asked.number }));
});
process.once('disconnect', () => process.exit(0));
say({ origin: fake.origin });
