import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';
import { onServer } from './run-cli.js';

/** Clears the screen, reverses the text, and adds a forged row. */
const hostile = 'team:x\u001b[2J\u009b\u202e\n99  2026-01-01  allow  policy:ok  private:alice';

describe('data on a terminal', () => {
  let host: TestHost;
  before(async () => {
    host = await createTestHost({
      plugins: ['admin', 'logbook', 'memory-gateway'],
      extra: [
        {
          manifest: {
            key: 'teller',
            contributes: { command: [{ key: 'tell', facts: { usage: 'tell', summary: 'Prints what it has.' } }] },
          },
          definition: {
            key: 'teller',
            register(own) {
              own.contribute('command', 'tell', {
                ...own.facts('command', 'tell'),
                run: async () => ({ exitCode: 0, data: { hostile }, text: `first\t${hostile}`, detail: hostile }),
              });
            },
          },
        },
      ],
    });
    await host.service('audit').write({
      action: 'reject',
      operation: 'gate',
      reason: 'policy:invalid_space',
      targetSpace: hostile,
      principal: 'test',
      correlationId: 'corr-0123456789abcdef',
    });
  });
  after(() => host.stop());

  it('adds no forged row to the audit trail', async () => {
    const { stdout } = await onServer(host, 'memory', 'audit', 'list', '--reason-prefix', 'policy:invalid_space');
    expect(stdout).to.contain('team:x·[2J···99  2026-01-01');
    expect(stdout.trimEnd().split('\n')).to.have.length(3);
  });

  it('does not control it, whatever a command prints', async () => {
    const { stdout, stderr } = await onServer(host, 'tell');
    expect(stdout).to.equal('first\tteam:x·[2J··\n99  2026-01-01  allow  policy:ok  private:alice\n');
    expect(stderr).to.equal('team:x·[2J··\n99  2026-01-01  allow  policy:ok  private:alice\n');
  });

  it('is escaped in JSON, and parses to the same value', async () => {
    const { stdout } = await onServer(host, 'tell', '--json');
    expect(JSON.parse(stdout)).to.deep.equal({ hostile });
    expect(stdout).to.contain('\\u009b\\u202e');
    expect(stdout.trimEnd()).to.not.match(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
  });
});
