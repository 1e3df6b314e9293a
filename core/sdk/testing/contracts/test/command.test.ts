import { MortiseError } from '../../../errors.js';
import type { Command } from '../../../points/command.js';
import { commandSuite } from '../command.js';
import { testSuite, wait, waitFor } from '../suite-samples.js';

const result = (data: unknown, exitCode = 0) => ({ exitCode, data, text: String(JSON.stringify(data)) });

const good: Command['run'] = async ({ args }, { signal }) => {
  if (args[0] === 'refused') throw new MortiseError('greet_refused', 'Not now.');
  if (args[0] === 'wrong') return result({ usage: 'greet [name]' }, 2);
  if (args[0] === 'slow') await waitFor(3_000, signal);
  return result({ greeted: args[0] ?? 'you' });
};

const command = (run: Command['run'] = good, more: Partial<Command> = {}): Command => ({
  usage: 'greet',
  summary: 'Greets.',
  run,
  ...more,
});

let calls = 0;
let busy = 0;
let started = 0;

testSuite(
  { ...commandSuite, point: 'command' },
  {
    good: { make: () => command() },
    subject: {
      done: { args: [] },
      refused: [{ args: ['refused'] }],
      wrongUsage: [{ args: ['wrong'] }],
      slow: { args: ['slow'] },
    },
    bad: {
      'is there under its key, with facts that fit its extension point': { make: () => command(good, { usage: '' }) },
      'ends with 0, data for scripts and a text for people': {
        make: () => command(async () => ({ ...result({ at: new Date() }), exitCode: 3 })),
      },
      'ends with 1 or a coded error when it is refused': { make: () => command(async () => result({})) },
      'ends with 2 when it is used wrongly': { make: () => command(async () => result({})) },
      'has the same data with and without --json': {
        make: () => command(async ({ json }) => result({ json })),
      },
      'answers the same call alike, whatever was called in between': {
        make: () => command(async () => result({ call: calls++ })),
      },
      'prints nothing by itself': {
        make: () =>
          command(async () => {
            process.stdout.write('');
            return result({});
          }),
      },
      'serves 5 calls side by side': {
        make: () =>
          command(async () => {
            busy += 1;
            await wait(1);
            const together = busy;
            busy -= 1;
            return result({ busy: together > 1 });
          }),
      },
      'ends its work when it is told to': {
        make: () =>
          command(async () => {
            await wait(700);
            return result({});
          }),
      },
      'answers hostile arguments with a result or a code': {
        make: () => command(async ({ args }) => result({ greeted: args.map(encodeURIComponent) })),
      },
      'is gone when its plugin is disabled, and works again when it is enabled': {
        make: () => command(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already started');
        },
      },
    },
  },
);
