import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { sessionMembers } from 'mortise/contracts/tool-shell';
import { type ServerProcess, startServer, until } from 'mortise/sdk/testing';

describe('a killed server', () => {
  let server: ServerProcess;

  before(async () => {
    server = await startServer();
  });
  after(() => server.dispose());

  it('takes its commands along, with what they run in the background', async () => {
    const run = (tool: string, input: object) =>
      server
        .post('/agent/process', { session_id: tool, user_id: 'u', biz_params: { tool: { name: tool, input } } })
        .catch(() => undefined);
    const endless = (name: string) => `echo $$ > ${name}; sleep 300 & while :; do sleep 0.1; done`;
    const leader = async (name: string) => Number(await readFile(join(server.folder, name), 'utf8').catch(() => '0'));
    // A command that has ended before must not confuse what is recorded of the others.
    await run('exec_command', { cmd: 'true' });
    void run('shell', { items: [{ command: endless('one'), timeout_seconds: 60 }] });
    await run('exec_command', { cmd: endless('two'), yield_time_ms: 1 });
    await run('exec_command', { cmd: endless('three'), tty: true, yield_time_ms: 1 });
    const leaders: number[] = [];
    for (const name of ['one', 'two', 'three']) {
      await until(`command ${name}`, async () => (await leader(name)) > 0, 10_000);
      leaders.push(await leader(name));
    }
    for (const pid of leaders) expect(sessionMembers(pid)).not.to.have.length(0);
    await server.end('SIGKILL');
    await until('the end of all commands', () => leaders.every((pid) => sessionMembers(pid).length === 0), 5_000);
  });
});
