import { expect } from 'chai';
import { MortiseError } from 'mortise/sdk';
import { createTestHost, type TestHost, type TestPlugin } from 'mortise/sdk/testing';
import { type Ended, onServer, runCli } from './run-cli.js';

const facts = { usage: 'door <name>', summary: 'Opens a door.' };

const door: TestPlugin = {
  manifest: { key: 'door', contributes: { command: [{ key: 'door', facts }] } },
  definition: {
    key: 'door',
    register(own) {
      own.contribute('command', 'door', {
        ...own.facts('command', 'door'),
        run: async ({ args: [name] }) => {
          if (name === undefined) return { exitCode: 2, data: { error: 'usage', reason: 'Which door?' }, text: '' };
          const details = { name, keys: ['brass', 'iron'] };
          throw new MortiseError('door_locked', `The door ${name} is locked.`, { status: 409, details });
        },
      });
    },
  },
};

describe('an error on the command line', () => {
  let host: TestHost;
  before(async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook', 'sessions'], extra: [door] });
  });
  after(() => host.stop());

  /** The only line of stderr, as a script reads it. */
  const printed = ({ stdout, stderr }: Ended): unknown => {
    expect([stdout, stderr.trimEnd().split('\n').length]).to.deep.equal(['', 1]);
    return JSON.parse(stderr);
  };

  it('of the API has its code, details and status', async () => {
    const ended = await onServer(host, '--json', 'door', 'north');
    expect(ended.code).to.equal(1);
    expect(printed(ended)).to.deep.equal({
      error: {
        code: 'door_locked',
        message: 'The door north is locked.',
        details: { name: 'north', keys: ['brass', 'iron'] },
        hint: 'Check the current state, then try again.',
      },
      status: 409,
    });
  });

  it('is printed as text with its hint, and with details that the message does not contain', async () => {
    expect((await onServer(host, 'door', 'north')).stderr.split('\n')).to.deep.equal([
      '[door_locked] The door north is locked.',
      '  Check the current state, then try again.',
      '  keys: ["brass","iron"]',
      '',
    ]);
  });

  const local = (reason: string) => ({ error: { code: 'cli_error', details: { reason } }, status: 0 });
  const nowhere = ['--api-base', 'http://127.0.0.1:1', '--json'];
  const cases: readonly (readonly [what: string, exit: number, reason: string, run: () => Promise<Ended>])[] = [
    ['without a server', 3, 'no_server', () => runCli([...nowhere, 'status'])],
    ['without a server, in the process of the caller', 3, 'no_server', () => runCli([...nowhere, 'chats', 'list'])],
    ['of a wrong option', 2, 'wrong_usage', () => onServer(host, '--json', 'door', '--wide')],
    ['of an unknown command', 2, 'wrong_usage', () => onServer(host, '--json', 'gate', 'x')],
    ['of arguments that a plugin refuses', 2, 'wrong_usage', () => onServer(host, '--json', 'door')],
    ['of a wrong address', 2, 'wrong_usage', () => runCli(['--api-base', 'nonsense', '--json', 'status'])],
    [
      'of arguments that a command in this process refuses',
      2,
      'wrong_usage',
      () => onServer(host, '--json', 'chats', 'create'),
    ],
  ];
  for (const [what, exit, reason, run] of cases) {
    it(`${what} is cli_error and exits with ${exit}`, async () => {
      const ended = await run();
      expect(ended.code).to.equal(exit);
      const error = printed(ended) as { readonly error: object };
      expect(error).to.containSubset(local(reason));
      expect(error.error).to.have.all.keys('code', 'message', 'details', 'hint');
    });
  }
});
