import { expect } from 'chai';
import { createTestHost, type TestHost, type TestPlugin } from 'mortise/sdk/testing';
import { checkInput } from '../check-input.js';
import { onServer, runCli } from './run-cli.js';

const facts = {
  usage: 'lamp (--on | --off) [options]',
  summary: 'Switches a lamp.',
  options: [
    { flags: '--on', summary: 'on' },
    { flags: '--off', summary: 'off' },
    { flags: '--watts <n>', summary: 'how bright', value: { number: 'whole', from: 1, to: 100 } },
    { flags: '--colour <name>', summary: 'which', value: { oneOf: ['white', 'amber'] } },
  ],
} as const;
const shelf = { usage: 'shelf <list|show> [id]', summary: 'Looks at a shelf.' };
const bench = { usage: 'bench --for <people> <place> <day> [options]', summary: 'Puts a bench somewhere.' };
const chair = { usage: 'chair', summary: 'Everyone may sit.', auth: 'key' } as const;

const lamp: TestPlugin = {
  manifest: {
    key: 'lamp',
    contributes: {
      command: [
        { key: 'lamp', facts },
        { key: 'shelf', facts: shelf },
        { key: 'bench', facts: bench },
        { key: 'chair', facts: chair },
      ],
    },
  },
  definition: {
    key: 'lamp',
    register(own) {
      for (const key of ['lamp', 'shelf', 'bench', 'chair']) {
        own.contribute('command', key, {
          ...own.facts('command', key),
          run: async (_input, { principal: { admin } }) => ({
            exitCode: 0,
            data: { admin },
            text: 'Done.',
          }),
        });
      }
    },
  },
};

describe('input of a plugin command', () => {
  describe('on a server that requires keys', () => {
    const keys = { MORTISE_API_KEY: 'key-0123456789', GOVERNANCE_ADMIN_KEY: 'adm-0123456789' };
    let host: TestHost;
    before(async () => {
      host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [lamp], env: keys });
    });
    after(() => host.stop());
    const withKey = (...args: readonly string[]) =>
      runCli(['--api-base', host.origin, '--api-key', keys.MORTISE_API_KEY, ...args]);

    it('is checked against the usage before the rights of the caller', async () => {
      const wrong: readonly [readonly string[], string][] = [
        [['lamp', '--on', '--watts', '101'], '--watts cannot be "101"; expected a whole number from 1 to 100.'],
        [['lamp', '--on', '--colour', 'red'], '--colour cannot be "red"; expected white or amber.'],
        [['lamp'], 'An option is missing; expected --on or --off.'],
        [['lamp', '--on', '--off'], '--on and --off exclude each other; expected --on or --off.'],
        [['bench', 'park'], '<day> is missing.'],
        [['shelf'], 'A subcommand is missing; expected list or show.'],
        [['shelf', 'burn'], '"burn" is not a subcommand; expected list or show.'],
      ];
      for (const [args, sentence] of wrong) {
        const { code, stdout, stderr } = await withKey(...args);
        expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
        const { usage } = { lamp: facts, bench, shelf }[args[0] as 'lamp'];
        expect(stderr).to.equal(`[cli_error] ${sentence}\n  Usage: mortise ${usage}\n`);
      }
      const asJson = await withKey('--json', 'lamp', '--on', '--watts', 'many');
      expect(asJson.error()).to.deep.include({ code: 'cli_error', details: { reason: 'wrong_usage' } });
      expect(asJson.error().hint).to.equal(`Usage: mortise ${facts.usage}`);
    });

    it('runs for every key if the command allows it, with the rights of the key', async () => {
      expect((await withKey('--json', 'chair')).json()).to.deep.equal({ admin: false });
      const admin = await withKey('--json', '--admin-key', keys.GOVERNANCE_ADMIN_KEY, 'chair');
      expect(admin.json()).to.deep.equal({ admin: true });
    });

    it('runs for callers with the right, and explains to others how to pass a key', async () => {
      const right = await withKey('--admin-key', keys.GOVERNANCE_ADMIN_KEY, 'lamp', '--on', '--watts', '100');
      expect([right.code, right.stdout]).to.deep.equal([0, 'Done.\n']);
      const none = await withKey('lamp', '--on');
      expect(none.code).to.equal(1);
      expect(none.stderr)
        .to.include('[admin_required]')
        .and.include('Set GOVERNANCE_ADMIN_KEY')
        .and.include('--admin-key');
      const other = await withKey('--admin-key', 'another', 'lamp', '--on');
      expect(other.stderr).to.include('is not the admin key of this server');
      const anonymous = await onServer(host, 'plugin', 'list');
      expect(anonymous.stderr).to.include('[unauthorized]').and.include('MORTISE_API_KEY');
      for (const { stderr } of [none, other, anonymous]) expect(stderr).not.to.match(/X-A\w+-Key|Bearer/i);
    });

    it('is checked against the usage in the files if the server does not know the caller', async () => {
      const { code, stderr } = await onServer(host, 'memory', 'reconcile', '--once', '--batch-size', 'x');
      expect(code).to.equal(2);
      expect(stderr).to.include('--batch-size cannot be "x"; expected a whole number from 1 to 1000000.');
    });
  });

  it('may be any number, a number from a minimum, or a time', () => {
    const check = (value: Parameters<typeof checkInput>[2][number]['value'], given: string) => {
      try {
        checkInput({ usage: 'x' }, { args: [], options: { at: given } }, [{ name: 'at', long: '--at', value }]);
        return 'taken';
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(check({ number: 'any', above: 0 }, '0.5')).to.equal('taken');
    expect(check({ number: 'any', above: 0 }, '0')).to.equal('--at cannot be "0"; expected a number above 0.');
    expect(check({ number: 'whole', from: 1 }, '1.5')).to.include('a whole number of at least 1.');
    expect(check({ number: 'any', above: 0, to: 2 }, '3')).to.include('a number above 0, at most 2.');
    for (const given of ['', '-1', '1e3', ' 1', '0x1'])
      expect(check({ number: 'any' }, given), given).not.to.equal('taken');
    expect(check({ time: true }, '2026-01-31T08:30:00Z')).to.equal('taken');
    expect(check({ time: true }, 'yesterday')).to.include('a time in ISO 8601');
    expect(check({ oneOf: ['a'] }, `b\n${'c'.repeat(100)}`))
      .to.include('"b c')
      .and.include('…');
  });
});
