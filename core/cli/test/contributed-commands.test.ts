import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { type CommandInput, MortiseError } from 'mortise/sdk';
import { createTestHost, type TestHost, type TestPlugin, temporaryFolder } from 'mortise/sdk/testing';
import { type OfflineFolder, offlineFolder, onServer, runCli, spawnCli } from './run-cli.js';

const facts = {
  usage: 'greet say <name>',
  summary: 'Greets somebody.',
  aliases: ['hello'],
  options: [
    { flags: '--loud', summary: 'louder' },
    { flags: '--times <n>', summary: 'how often' },
    { flags: '--from-letter <file>', summary: 'what to say', file: true },
  ],
  examples: ['mortise greet say you'],
};

/** Options with the names of all global options. */
const signFacts = {
  usage: 'sign letter <name> [options]',
  summary: 'Signs.',
  options: [
    { flags: '--api-key <key>', summary: 'key of the signature' },
    { flags: '--admin-key <key>', summary: 'another key' },
    { flags: '--version <n>', summary: 'version of the signature' },
    { flags: '--ink <colour...>', summary: 'colours' },
  ],
};

const answer = async ({ args, options, json }: CommandInput) => ({
  exitCode: 0,
  data: { args, options, json },
  text: 'Done.',
});

const signer: TestPlugin = {
  manifest: {
    key: 'signer',
    contributes: {
      command: [
        { key: 'sign-letter', facts: signFacts },
        { key: 'sign-list', facts: { usage: 'sign list', summary: 'Lists.' } },
      ],
    },
  },
  definition: {
    key: 'signer',
    register(own) {
      own.contribute('command', 'sign-letter', { ...own.facts('command', 'sign-letter'), run: answer });
      own.contribute('command', 'sign-list', { ...own.facts('command', 'sign-list'), run: answer });
    },
  },
};

describe('commands of plugins', () => {
  describe('with a server', () => {
    let host: TestHost;
    let aborted = 0;
    const greet: TestPlugin = {
      manifest: {
        key: 'greet',
        contributes: {
          command: [
            { key: 'greet-say', facts },
            { key: 'greet-check', facts: { usage: 'greet check', summary: 'Fails.', failureExit: 2 } },
          ],
        },
      },
      definition: {
        key: 'greet',
        register(own) {
          own.contribute('command', 'greet-say', {
            ...own.facts('command', 'greet-say'),
            isRead: ({ args: [name] }) => name === 'me',
            run: async ({ args, options, json }: CommandInput, { signal, principal, log }) => {
              const [name] = args;
              log.info('this is no part of the answer');
              if (name === undefined) return { exitCode: 2, data: { usage: facts.usage }, text: 'Whom?' };
              if (name === 'nobody') throw new MortiseError('greet_nobody', 'There is nobody.', { hint: 'Name one.' });
              if (name === 'me') return { exitCode: 0, data: { name }, text: 'Hello.' };
              if (name === 'forever') {
                await new Promise((resolve) => signal.addEventListener('abort', resolve));
                aborted += 1;
              }
              return { exitCode: 0, data: { name, options, json, by: principal.id }, text: `Hello ${name}.` };
            },
          });
          own.contribute('command', 'greet-check', {
            ...own.facts('command', 'greet-check'),
            run() {
              throw new MortiseError('greet_nobody', 'There is nobody.');
            },
          });
        },
      },
    };
    before(async () => {
      host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [greet, signer] });
    });
    after(() => host.stop());

    it('run in the server, with their arguments and options', async () => {
      const { code, stdout } = await onServer(host, 'greet', 'say', 'you');
      expect([code, stdout]).to.deep.equal([0, 'Hello you.\n']);
      const answer = await onServer(host, '--json', 'hello', 'you', '--loud', '--times', '3');
      expect(answer.json()).to.deep.equal({
        name: 'you',
        options: { loud: true, times: '3' },
        json: true,
        by: 'local',
      });
    });

    it('may have options with the names of global ones, and use these after the command name', async () => {
      const typed = ['--api-key', 'sk-1', '--admin-key=a-2', '--version', '3', '--ink', 'red', 'blue', '--json'];
      const signed = await onServer(host, 'sign', 'letter', 'you', ...typed);
      expect(signed.json()).to.deep.equal({
        args: ['you'],
        options: { apiKey: 'sk-1', adminKey: 'a-2', version: '3', ink: ['red', 'blue'] },
        json: true,
      });
      const trailing = ['sign', '--json', 'letter', 'you', '--api-key', 'sk-1', '--api-base', host.origin];
      expect((await runCli(trailing)).json()).to.deep.include({ options: { apiKey: 'sk-1' } });
      const { stdout } = await onServer(host, 'sign', 'letter', '--help');
      expect(stdout).to.contain('key of the signature').and.not.to.contain('GOVERNANCE_ADMIN_KEY');
    });

    it('get the text of a file of the client machine', async () => {
      const letter = join(temporaryFolder('letter'), 'letter.txt');
      await writeFile(letter, 'Dear you');
      const { options } = (await onServer(host, '--json', 'hello', 'you', '--from-letter', letter)).json() as {
        options: object;
      };
      expect(options).to.deep.equal({ fromLetter: 'Dear you' });
      await writeFile(letter, Uint8Array.of(0xd6, 0xd0));
      const other = await onServer(host, 'hello', 'you', '--from-letter', letter);
      expect([other.code, other.stderr.includes(`${letter}: it is not a text in UTF-8.`)]).to.deep.equal([2, true]);
      const missing = await onServer(host, 'hello', 'you', '--from-letter', `${letter}.gone`);
      expect(missing.code).to.equal(2);
      expect(missing.stderr).to.contain('letter.txt.gone: there is no such file.');
    });

    it('exit with their own code, or with 1 and their error', async () => {
      expect((await onServer(host, 'greet', 'say')).code).to.equal(2);
      const refused = await onServer(host, 'greet', 'say', 'nobody');
      expect([refused.code, refused.stderr]).to.deep.equal([1, '[greet_nobody] There is nobody.\n  Name one.\n']);
    });

    it('are in the help, and have their own help', async () => {
      expect((await onServer(host, '--help')).stdout).to.match(/^ {2}greet +check, say$/m);
      const { stdout } = await onServer(host, 'greet', 'say', '--help');
      expect(stdout)
        .to.contain('Greets somebody.')
        .and.to.contain('--times <n>')
        .and.to.contain('mortise greet say you');
    });

    it('are audited', async () => {
      const { rows } = await host.service('audit').query({ operation: 'admin:command', limit: 10 });
      expect(rows.map(({ action, reason, targetSpace }) => [action, reason, targetSpace])).to.deep.include.members([
        ['allow', 'admin:done', 'plugin:greet'],
        ['reject', 'admin:greet_nobody', 'plugin:greet'],
      ]);
    });

    it('are not audited if they only read', async () => {
      const count = async () =>
        (await host.service('audit').query({ operation: 'admin:command', limit: 100 })).rows.length;
      const before = await count();
      expect((await onServer(host, 'greet', 'say', 'me')).stdout).to.equal('Hello.\n');
      expect(await count()).to.equal(before);
      await onServer(host, 'greet', 'say', 'you');
      expect(await count()).to.equal(before + 1);
    });

    it('exit with their declared failure code when they cannot finish', async () => {
      const again = await onServer(host, 'greet', 'check');
      expect([again.code, again.stderr]).to.deep.equal([
        2,
        '[greet_nobody] There is nobody.\n  mortise plugin doctor looks for problems; the server log has details.\n',
      ]);
    });

    it('are aborted when the caller disconnects', async () => {
      const controller = new AbortController();
      const running = host
        .fetch('/admin/commands/greet-say', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ args: ['forever'] }),
          signal: controller.signal,
        })
        .catch(() => undefined);
      const inFlight = () => host.app.kernel.registry.find('command', 'greet-say')?.stats.inFlight;
      while (inFlight() !== 1) await new Promise((resolve) => setTimeout(resolve, 5));
      controller.abort();
      await running;
      const end = Date.now() + 2_000;
      while (aborted === 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
      expect([aborted, inFlight()]).to.deep.equal([1, 0]);
    });

    it('accept only arguments and options', async () => {
      for (const body of [{ args: 'x' }, { args: [1] }, { options: [] }, { options: { a: 1 } }, { json: 'yes' }, []]) {
        const { status } = await host.post('/admin/commands/greet-say', body);
        expect(status, JSON.stringify(body)).to.equal(400);
      }
      expect((await host.post('/admin/commands/no-such-command', {})).status).to.equal(404);
    });
  });

  describe('with a server that needs a key', () => {
    let host: TestHost;
    before(async () => {
      const env = { MORTISE_API_KEY: 'server-key', GOVERNANCE_ADMIN_KEY: 'admin-key' };
      host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [signer], env });
    });
    after(() => host.stop());

    it('take its key from options before their name, if their own option has the same name', async () => {
      const admin = ['--api-base', host.origin, '--admin-key', 'admin-key'];
      const own = ['sign', 'letter', 'you', '--api-key', 'sk-1', '--json'];
      expect((await runCli([...admin, '--api-key', 'server-key', ...own])).json()).to.deep.include({
        options: { apiKey: 'sk-1' },
      });
      const known = await runCli([...admin, ...own], { MORTISE_API_KEY: 'server-key' });
      expect(known.json()).to.deep.include({ options: { apiKey: 'sk-1' } });
      const other = await runCli([...admin, 'sign', 'list', '--json', '--api-key', 'server-key']);
      expect(other.json()).to.deep.include({ options: {} });
    });
  });

  describe('without a server', () => {
    let folder: OfflineFolder;
    before(async () => {
      folder = await offlineFolder({
        logbook: { enabled: true },
        greet: { enabled: true },
        other: { enabled: true },
        mute: { enabled: true },
      });
      const declared = (key: string, offline: boolean) => ({
        requires: key === 'greet' ? ['logbook'] : [],
        contributes: {
          command: [
            { key: `${key}-say`, facts: { ...facts, usage: `${key} say [word...] [options]`, aliases: [], offline } },
          ],
        },
      });
      const code = (key: string) => `
        export default () => ({
          key: '${key}',
          register(host) {
            host.contribute('command', '${key}-say', {
              ...host.facts('command', '${key}-say'),
              async run({ args }) {
                host.log.error('this is no part of the answer');
                return { exitCode: args.length, data: { args }, text: 'said' };
              },
            });
          },
        });`;
      await folder.addPlugin('greet', declared('greet', true), code('greet'));
      await folder.addPlugin('other', declared('other', false), code('other'));
      const mute = { key: 'mute-say', facts: { usage: 'mute --loud', summary: 'Says nothing.', offline: true } };
      await folder.addPlugin('mute', { contributes: { command: [mute] } }, code('mute'));
    });
    after(() => folder.dispose());

    it('boot the plugins they need, without a port, if they are declared as offline', async () => {
      const { code, stdout, stderr } = await folder.run('greet', 'say', 'x');
      expect([code, stdout]).to.deep.equal([1, 'said\n']);
      expect(stderr).to.contain('this is no part of the answer').and.not.to.contain('listens');
      const scripted = await folder.run('greet', 'say', '--json');
      expect([scripted.code, scripted.stdout, scripted.stderr]).to.deep.equal([0, '{"args":[]}\n', '']);
    });

    it('accept no arguments beyond their usage', async () => {
      const { code, stderr } = await folder.run('mute', 'x');
      expect([code, stderr.includes('Too many arguments')]).to.deep.equal([2, true]);
    });

    it('exit with 3 when they need the server', async () => {
      expect((await folder.run('other', 'say')).code).to.equal(3);
    });

    it('are unknown when their plugin is disabled, and cannot replace commands of the platform', async () => {
      await folder.run('plugin', 'disable', 'greet');
      const { code, stderr } = await folder.run('greet', 'say');
      expect([code, stderr.includes("Unknown command 'greet'")]).to.deep.equal([2, true]);
      expect((await runCli(['greet'], folder.env)).code).to.equal(2);
      await folder.run('plugin', 'enable', 'greet');
    });

    it('run in the client process if their manifest names a client module', async () => {
      const command = { key: 'near-by', facts: { usage: 'near by [word]', summary: 'Here.', client: 'near-by.js' } };
      const lost = { key: 'near-lost', facts: { usage: 'near lost', summary: 'Nowhere.', client: 'gone.js' } };
      await folder.addPlugin(
        'near',
        { contributes: { command: [command, lost] } },
        'export default () => ({ key: "near", register() {} });',
      );
      await folder.addFile(
        'near',
        'near-by.js',
        'export default async ({ args }, { apiBase, apiKey }) => ({ exitCode: 0, data: { args, apiBase, apiKey, pid: process.ppid }, text: "here" });',
      );
      await folder.run('plugin', 'enable', 'near');
      const words = ['near', 'by', 'me', '--json', '--api-base', 'http://127.0.0.1:1/', '--api-key', 'k'];
      const { code, json } = await spawnCli(words, folder.env);
      expect([code, json()]).to.deep.equal([
        0,
        { args: ['me'], apiBase: 'http://127.0.0.1:1', apiKey: 'k', pid: process.pid },
      ]);
      const missing = await folder.run('near', 'lost', '--json');
      expect([missing.code, missing.error().details.reason]).to.deep.equal([1, 'not_installed']);
    });

    it('report why their plugin did not start', async () => {
      await folder.addPlugin(
        'greet',
        { contributes: { command: [{ key: 'greet-say', facts: { ...facts, usage: 'greet say', offline: true } }] } },
        'export default () => ({ key: "greet", register() { throw new Error("no"); } });',
      );
      const { code, error } = await folder.run('greet', 'say', '--json');
      expect([code, error().code]).to.deep.equal([1, 'plugin_blocked']);
    });
  });
});
