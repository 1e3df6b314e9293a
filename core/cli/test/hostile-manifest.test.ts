import { expect } from 'chai';
import { createTestHost } from 'mortise/sdk/testing';
import { type Ended, offlineFolder, onServer } from './run-cli.js';

/** Clears the screen, ends the text, reverses the following characters, and continues on a new line. */
const hostile = 'x\u001b[2J\u0000\u202e\u2066\u009by\nz';

/** Characters that control a terminal, except for the line break. */
const controlling = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

const texts = {
  title: hostile,
  summary: hostile,
  permissions: { network: [hostile], secrets: [hostile], files: [hostile], exec: [hostile] },
  contributes: {
    command: [
      {
        key: 'wild-say',
        facts: {
          usage: `wild say <${hostile}>`,
          summary: hostile,
          options: [{ flags: `--loud <${hostile}>`, summary: hostile }],
          examples: [hostile],
        },
      },
    ],
  },
} as const;

const newer = { title: hostile, summary: hostile, engines: { mortise: hostile } } as const;

function expectCalm(command: string, { stdout, stderr }: Ended): void {
  const shown = stdout + stderr;
  expect(shown, command).to.contain('x·[2J');
  expect(
    shown.split('\n').find((line) => controlling.test(line) || line.startsWith('z')),
    command,
  ).to.equal(undefined);
}

describe('texts of a manifest on a terminal', () => {
  it('neither control it nor break a line, without a server', async () => {
    const folder = await offlineFolder({ newer: { enabled: true } });
    try {
      await folder.addPlugin('wild', texts, '');
      await folder.addPlugin('newer', newer, '');
      for (const command of [
        'plugin list',
        'plugin inspect wild',
        'plugin inspect newer',
        'plugin plan +wild',
        'plugin doctor',
      ])
        expectCalm(command, await folder.run(...command.split(' ')));
      await folder.run('plugin', 'enable', 'wild');
      expectCalm('wild --help', await folder.run('wild', '--help'));
      expectCalm('wild say --help', await folder.run('wild', 'say', '--help'));
    } finally {
      await folder.dispose();
    }
  });

  it('nor in refusals of a server', async () => {
    const definition = { key: 'newer', register() {} };
    const host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [{ manifest: { key: 'newer', ...newer }, definition }],
    });
    try {
      for (const command of ['inspect', 'enable'])
        expectCalm(command, await onServer(host, 'plugin', command, 'newer'));
    } finally {
      await host.stop();
    }
  });
});
