import { expect } from 'chai';
import { OutputBuffer } from 'mortise/contracts/tool-shell';
import { createTestHost } from 'mortise/sdk/testing';
import { findProgram, sandboxed } from '../command-line.js';

describe('output of a command', () => {
  it('is cut at a whole character, and empty once it was taken', () => {
    const output = new OutputBuffer(7);
    output.add(Buffer.from('abc'));
    output.add(Buffer.from('äöü'));
    expect(output.take()).to.equal('abcäö\n... (output truncated)');
    expect(output.isEmpty).to.equal(true);
    output.add(Buffer.from('öö'));
    expect(output.take(3)).to.equal('ö\n... (output truncated)');
    output.add(Buffer.from('x'));
    expect(output.take()).to.equal('x');
  });
});

describe('the sandbox', () => {
  it("leaves the workspace writable and the platform's files empty", () => {
    const folders = ['/w', '/w/data', '/w/plugins', '/w/data/skills'];
    const isFolder = (path: string) => (path === '/w/.env' ? false : folders.includes(path) || undefined);
    const guarded = { hidden: ['/w/data', '/w/.env', '/missing'], readOnly: ['/w/plugins'] };
    const shown = { workspace: '/w', guarded, readable: ['/w/data/skills', '/w/data/uploads'] };
    const { file, args } = sandboxed(
      '/usr/bin/bwrap',
      { file: '/bin/sh', args: ['-c', 'x'] },
      '/w/sub',
      shown,
      isFolder,
    );
    expect(file).to.equal('/usr/bin/bwrap');
    const line = args.join(' ');
    expect(line).to.contain('--unshare-pid').and.contain('--die-with-parent');
    expect(line.slice(line.indexOf('--bind'))).to.equal(
      [
        '--bind /w /w --ro-bind /w/plugins /w/plugins --tmpfs /w/data --ro-bind /dev/null /w/.env',
        '--ro-bind /w/data/skills /w/data/skills --chdir /w/sub -- /bin/sh -c x',
      ].join(' '),
    );
  });

  it('refuses every command while its program is missing', async function missing() {
    if (findProgram('bwrap', process.env.PATH)) this.skip();
    const host = await createTestHost({
      plugins: ['agent', 'provider-demo', 'channel-console', 'tool-shell'],
      env: { MORTISE_SHELL_SANDBOX: 'bwrap' },
    });
    try {
      const response = await host.post('/agent/process', {
        session_id: 's',
        user_id: 'u',
        shell: [{ command: 'true' }],
      });
      expect(response.status).to.equal(502);
      expect(((await response.json()) as { error: object }).error).to.include({
        code: 'tool_runtime_unavailable',
        message: 'the sandbox program bwrap is missing',
      });
    } finally {
      await host.stop();
    }
  }).timeout(30_000);
});
