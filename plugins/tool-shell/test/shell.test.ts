import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { asksFor, errorOf, eventsOf, fakeModel, inTurn, says } from 'mortise/contracts/agent/testing';
import { sessionMembers } from 'mortise/contracts/tool-shell';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';

const limit = 24;

describe('the shell of agents', () => {
  let host: TestHost;
  let script: ReturnType<typeof inTurn>;
  const model = fakeModel((request, call, signal) => script(request, call, signal));
  const secrets = ['MORTISE_TEST_SETTING', 'DATABASE_URL', 'SOME_API_KEY', 'MY_PASSWORD_FILE', 'GITHUB_TOKEN'];

  before(async () => {
    for (const name of secrets) process.env[name] ??= 'leaked';
    process.env.PLAIN_VARIABLE = 'plain';
    host = await createTestHost({
      plugins: ['agent', 'channel-console', 'logbook', 'envs', 'tool-shell'],
      extra: [model.plugin],
      config: { 'tool-shell': { process_limit: limit } },
    });
    await host.fetch('/envs', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ A_TOKEN: 'abcdefgh', B: '2', PATH: '/none', MORTISE_X: 'no' }),
    });
    await mkdir(join(host.dataDir, 'sub'));
    await symlink('/etc', join(host.dataDir, 'out'));
  });
  after(async () => {
    await host.stop();
    for (const name of [...secrets, 'PLAIN_VARIABLE']) if (process.env[name] === 'leaked') delete process.env[name];
    delete process.env.PLAIN_VARIABLE;
  });

  const send = (extra: object, options: RequestInit = {}) =>
    host.fetch('/agent/process', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ session_id: 's', user_id: 'u', ...extra }),
      ...options,
    });
  const reply = async (...items: object[]) => {
    const body = (await (await send({ shell: items })).json()) as { reply?: string; error?: object };
    return body.reply ?? JSON.stringify(body.error);
  };
  const refusal = async (item: object) => errorOf(await send({ shell: [item] }));
  const ended = (leader: number) => until('the end of all processes', () => sessionMembers(leader).length === 0, 2_000);
  const audited = (tool: string) =>
    until(
      'the audit row',
      async () => {
        const { rows } = await host.app.database
          .forPlugin('probe', ['governance'])
          .statement(`select reason from {governance.write_audit} where reason = 'forbidden:${tool}'`);
        return rows.length > 0;
      },
      10_000,
    );

  it('runs a command as one step of a turn', async () => {
    const events = (await eventsOf(await send({ shell: [{ command: 'echo hi' }], stream: true }))) as {
      type?: string;
    }[];
    expect(events.map((event) => event.type ?? event)).to.deep.equal([
      'step_started',
      'tool_call',
      'tool_result',
      'assistant_delta',
      'completed',
      '[DONE]',
    ]);
    expect(events[2]).to.deep.include({ tool_result: { name: 'shell', ok: true, summary: '$ echo hi\nhi' } });
    expect(events[4]).to.include({ reply: '$ echo hi\nhi' });
  });

  it('reports the exit code, the merged output in order, and several results', async () => {
    const failing = await send({ shell: { input: { command: 'exit 3' } } });
    expect(failing.status).to.equal(200);
    expect(((await failing.json()) as { reply: string }).reply).to.equal('$ exit 3\n(command exited with code 3)');
    expect(await reply({ command: 'true' })).to.equal('$ true\n(command completed with no output)');
    expect(await reply({ command: 'echo a; echo b >&2; echo c; exit 1' })).to.match(/code 1\)\na\nb\nc$/);
    expect(await reply({ command: 'echo 1' }, { command: 'echo 2' })).to.equal('$ echo 1\n1\n\n$ echo 2\n2');
    expect(await reply({ command: 'pwd' })).to.equal(`$ pwd\n${host.dataDir}`);
    expect(await reply({ command: 'pwd', cwd: 'sub' })).to.equal(`$ pwd\n${join(host.dataDir, 'sub')}`);
  });

  it('keeps settings and secrets of the process out of the environment, and adds stored variables', async () => {
    const shown = await reply({ command: 'env' });
    expect(shown).to.contain('PLAIN_VARIABLE=plain').and.contain('PATH=').and.not.contain('leaked');
    expect(shown).to.not.contain('MORTISE_X').and.not.contain('PATH=/none');
    expect(await reply({ command: 'echo $A_TOKEN$B' })).to.contain('\nabcdefgh2');
  });

  it('refuses and audits folders outside, and escalation', async () => {
    for (const cwd of ['/etc', '..', 'out', host.configDir]) {
      expect(await refusal({ command: 'pwd', cwd }), cwd).to.include({ status: 400, code: 'tool_permission_denied' });
    }
    const escalated = { command: 'pwd', sandbox_permissions: 'require_escalated' };
    expect(await refusal(escalated)).to.include({ status: 400, code: 'tool_permission_denied' });
    expect(await refusal({ command: ' ' })).to.include({ message: 'tool input command is required' });
    expect(await refusal({ cwd: 'sub' })).to.include({ message: 'tool input command is required' });
    await audited('shell');
  });

  it('names the limit of a command that is too long', async () => {
    const { message } = await refusal({ command: 'x'.repeat(200_000) });
    expect(message).to.match(/^\/items\/0\/command must be text of .*characters$/);
  });

  describe('bounds', () => {
    it('endless output', async () => {
      const text = await reply({ command: 'yes harbour | head -c 50000000' });
      expect(text.endsWith('\n... (output truncated)')).to.equal(true);
      expect(Buffer.byteLength(text)).to.be.below(17_000);
    });

    it('endless loops, with everything they started', async () => {
      const text = await reply({ command: 'echo $$; (while :; do :; done) & while :; do :; done', timeout_seconds: 3 });
      const [, code = '', pid = ''] = text.split('\n');
      expect(code).to.equal('(command exited with code 124)');
      await ended(Number(pid));
    });

    it('processes that are left in the background', async () => {
      const [, pid] = (await reply({ command: 'echo $$; sleep 300 & sleep 300 >/dev/null 2>&1 &' })).split('\n');
      await ended(Number(pid));
    });

    it('fork bombs', async () => {
      const bomb = {
        command: `echo $$ > ${join(host.dataDir, 'bomb')}; b() { sleep 1; b | b & }; b | b & b | b & sleep 300`,
      };
      const many = {
        command: `echo $$ > ${join(host.dataDir, 'many')}; for i in $(seq 60); do sleep 300 & done; wait`,
      };
      expect(await refusal(many)).to.deep.include({
        status: 400,
        code: 'tool_permission_denied',
        message: `the command started more than ${limit} processes and was ended`,
      });
      expect(await refusal({ ...bomb, timeout_seconds: 60 })).to.include({ code: 'tool_permission_denied' });
      for (const name of ['many', 'bomb']) {
        const pid = Number(await readFile(join(host.dataDir, name), 'utf8'));
        await ended(pid);
      }
      await audited('shell');
    });

    it('a command whose client has left (A66)', async () => {
      const leaving = new AbortController();
      const file = join(host.dataDir, 'left');
      const sent = send({ shell: [{ command: `echo $$ > ${file}; sleep 300` }] }, { signal: leaving.signal });
      const pid = async () => Number(await readFile(file, 'utf8').catch(() => '0'));
      await until('the command', async () => (await pid()) > 0);
      leaving.abort();
      await sent.catch(() => undefined);
      const leader = await pid();
      await ended(leader);
    });
  });

  describe('sessions', () => {
    const run = async (...calls: [name: string, args: object][]) => {
      const asked = calls.map(
        ([name, args], index) =>
          () =>
            asksFor([[`c${index}`, name, JSON.stringify(args)]]),
      );
      script = inTurn(...asked, () => says('done'));
      model.requests.length = 0;
      const body = { input: [{ role: 'user', type: 'message', content: [{ type: 'text', text: 'go' }] }] };
      const { reply: last } = (await (await send(body)).json()) as { reply: string };
      expect(last).to.equal('done');
      const rows = model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? [];
      return rows.slice(-calls.length).map(({ content }) => String(content));
    };

    it('return at the end of a short command', async () => {
      expect(await run(['exec_command', { cmd: 'printf ok', yield_time_ms: 20_000 }])).to.deep.equal([
        '$ printf ok\nok',
      ]);
    });

    it('run in a shell of the machine, and name one that it does not have', async () => {
      const [ran = ''] = await run(['exec_command', { cmd: 'echo "$0"', shell: 'bash', yield_time_ms: 5_000 }]);
      expect(ran).to.match(/bash$/);
      const [refused = ''] = await run(['exec_command', { cmd: 'true', shell: 'no-such-shell' }]);
      expect(JSON.parse(refused)).to.include({
        code: 'invalid_tool_input',
        detail: 'this machine has no shell "no-such-shell"',
      });
    });

    it('can be read and typed into while they run', async () => {
      const [started = ''] = await run([
        'exec_command',
        { cmd: 'read x; echo "got $x"; tty', tty: true, yield_time_ms: 100 },
      ]);
      const id = Number(/session (\d+) is running/.exec(started)?.[1]);
      expect(id).to.be.at.least(1_000);
      let [typed = ''] = await run(['write_stdin', { session_id: id, chars: 'harbour\n', yield_time_ms: 5_000 }]);
      while (typed.endsWith('is running)')) {
        const [more = ''] = await run(['write_stdin', { session_id: id, yield_time_ms: 5_000 }]);
        typed = typed.slice(0, typed.lastIndexOf('(session')) + more;
      }
      expect(typed)
        .to.contain('got harbour')
        .and.match(/\/dev\/pts\//);
      const [gone = ''] = await run(['write_stdin', { session_id: id, chars: 'x' }]);
      expect(JSON.parse(gone)).to.include({ code: 'invalid_tool_input' });
    });

    it('belong to their chat, and take no input without a terminal', async () => {
      const [started = ''] = await run(['exec_command', { cmd: 'sleep 300', yield_time_ms: 50 }]);
      const id = Number(/session (\d+) is running/.exec(started)?.[1]);
      const [typed = ''] = await run(['write_stdin', { session_id: id, chars: 'x' }]);
      expect(JSON.parse(typed).detail).to.match(/no terminal/);
      const tool = { name: 'write_stdin', input: { session_id: id } };
      expect(await errorOf(await send({ session_id: 'other', biz_params: { tool } }))).to.include({
        code: 'invalid_tool_input',
      });
    });
  });
});
