/**
 * The memory backend in a separate process, so that kills of the product do not affect it. It writes its journal before it
 * responds. Its parent sets its faults by messages.
 */
import { parseArgs } from 'node:util';
import {
  type FakeCall,
  type FakeDialect,
  type FakeFault,
  startFakeOpenMemory,
} from 'mortise/contracts/memory-backend-openmemory/testing';

/** Commands of the parent; each is confirmed with its number. */
export type BackendCommand = { readonly number: number } & (
  | { readonly command: 'fail'; readonly call: FakeCall | 'any'; readonly fault: FakeFault }
  | { readonly command: 'clear-faults' | 'listen' | 'refuse-connections' }
);

export type BackendReply = { readonly origin: string } | { readonly done: number };

const { values } = parseArgs({
  options: { dialect: { type: 'string' }, journal: { type: 'string' } },
});
const fake = await startFakeOpenMemory({
  dialect: values.dialect as FakeDialect,
  ...(values.journal === undefined ? {} : { journalFile: values.journal }),
});

async function execute(command: BackendCommand): Promise<void> {
  switch (command.command) {
    case 'fail':
      return fake.failAlways(command.call, command.fault);
    case 'clear-faults':
      return fake.clearFaults();
    case 'listen':
      return fake.start();
    case 'refuse-connections':
      return fake.stop();
  }
}

function send(reply: BackendReply): void {
  process.send?.(reply);
}

process.on('message', (command: BackendCommand) => {
  void execute(command).then(() => send({ done: command.number }));
});
process.once('disconnect', () => process.exit(0));
send({ origin: fake.origin });
