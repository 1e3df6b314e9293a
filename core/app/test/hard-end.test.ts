import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ServerProcess, startServer, temporaryFolder } from 'mortise/sdk/testing';

const manifest = { manifestVersion: 1, key: 'waits', version: '1.0.0', title: 'Waits', summary: 'Reads a pipe.' };

/** Its start reads a pipe without a writer, in a thread that cannot be interrupted. */
const code = (pipe: string): string => `import { readFile } from 'node:fs/promises';
export default () => ({
  key: 'waits',
  register() {},
  async start() {
    const read = readFile(${JSON.stringify(pipe)});
    console.log('reads the pipe');
    await read;
  },
});`;

if (process.platform !== 'win32') {
  describe('a server with a plugin in a system call that never returns', () => {
    let folder: string;
    let server: ServerProcess;

    beforeEach(async () => {
      folder = temporaryFolder('hard-end');
      await mkdir(join(folder, 'plugins', 'waits'), { recursive: true });
      execFileSync('mkfifo', [join(folder, 'pipe')]);
      await writeFile(join(folder, 'plugins', 'waits', 'plugin.json'), JSON.stringify(manifest));
      await writeFile(join(folder, 'plugins', 'waits', 'package.json'), '{"type":"module"}');
      await writeFile(join(folder, 'plugins', 'waits', 'index.js'), code(join(folder, 'pipe')));
      const plugins = { version: 1, plugins: { admin: { enabled: true }, waits: { enabled: true } } };
      server = await startServer({ folder, plugins, env: { MORTISE_HTTP_SHUTDOWN_TIMEOUT_SECONDS: '1' } });
    });
    afterEach(() => server?.dispose());

    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      it(`ends on ${signal}`, async () => {
        expect(server.output()).to.include('reads the pipe');
        expect(await server.end(signal)).to.equal('SIGKILL');
      });
  });
}
