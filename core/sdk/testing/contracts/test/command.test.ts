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
      'is registered under its key, with facts that match the schema of its extension point': {
        make: () => command(good, { usage: '' }),
      },
      'exits with 0, with data for scripts and text for people': {
        make: () => command(async () => ({ ...result({ at: new Date() }), exitCode: 3 })),
      },
      'exits with 1 or a coded error when it is refused': { make: () => command(async () => result({})) },
      'exits with 2 on wrong usage': { make: () => command(async () => result({})) },
      'returns the same data with and without --json': {
        make: () => command(async ({ json }) => result({ json })),
      },
      'returns the same result for the same call, regardless of calls in between': {
        make: () => command(async () => result({ call: calls++ })),
      },
      'prints nothing itself': {
        make: () =>
          command(async () => {
            process.stdout.write('');
            return result({});
          }),
      },
      'serves 5 concurrent calls': {
        make: () =>
          command(async () => {
            busy += 1;
            await wait(1);
            const together = busy;
            busy -= 1;
            return result({ busy: together > 1 });
          }),
      },
      'stops its work when its signal is aborted': {
        make: () =>
          command(async () => {
            await wait(700);
            return result({});
          }),
      },
      'responds to hostile arguments with a result or a code': {
        make: () => command(async ({ args }) => result({ greeted: args.map(encodeURIComponent) })),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => command(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already started');
        },
      },
    },
  },
);
