import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ServerProcess, startServer, temporaryFolder } from 'mortise/sdk/testing';
import { type Outcome, packageProgram, run } from './command.js';

const program = packageProgram('@modelcontextprotocol/inspector', 'mcp-inspector');
const five = ['memory_store', 'memory_query', 'reliability_report', 'governance_update', 'evidence_upload'];

interface Tool {
  readonly name: string;
}

interface Result {
  readonly tools: readonly Tool[];
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  readonly [member: string]: unknown;
}

describe('the MCP inspector', function () {
  this.timeout(120_000);
  let home: string;
  let shipped: ServerProcess;
  let fixtures: ServerProcess;
  before(async () => {
    home = temporaryFolder('inspector');
    const project = join(import.meta.dirname, '..', '..', '..');
    const asShipped = JSON.parse(await readFile(join(project, 'plugins.json'), 'utf8')) as object;
    const enabled = { enabled: true };
    const plugins = { 'mcp-server': enabled, 'mcp-conformance': enabled };
    [shipped, fixtures] = await Promise.all([
      startServer({ plugins: asShipped, limitMs: 60_000 }),
      startServer({ plugins: { version: 1, plugins }, limitMs: 60_000 }),
    ]);
  });
  after(() => Promise.all([shipped, fixtures].map((server) => server.dispose())));

  // The package declares a newer Node than its command line needs: it runs on every Node that Mortise supports.
  const inspect = (server: ServerProcess, method: string, ...args: readonly string[]): Promise<Outcome> => {
    const common = ['--cli', `${server.origin}/mcp`, '--format', 'json', '--quiet', '--method', method];
    return run(process.execPath, [program, ...common, ...args], { PATH: process.env.PATH, HOME: home });
  };
  const resultOf = ({ exitCode, stdout, stderr }: Outcome): Result => {
    expect(exitCode, stderr).to.equal(0);
    return (JSON.parse(stdout) as { readonly result: Result }).result;
  };
  const answerOf = (outcome: Outcome) => JSON.parse(resultOf(outcome).content[0]?.text ?? '') as object;

  for (const mode of ['legacy', 'auto', 'modern']) {
    describe(`in its ${mode} mode`, () => {
      it('lists the five tools, without errors in their schemas', async () => {
        const outcome = await inspect(shipped, 'tools/list', '--strict', '--protocol-era', mode);
        expect(resultOf(outcome).tools.map(({ name }) => name)).to.deep.equal(five);
        expect(outcome.stderr).to.match(/^0 errors/m);
      });

      it('stores a memory and finds it', async () => {
        const payload = { payload_md: `Seen by the inspector, ${mode}.`, target_space: 'private:me' };
        const call = (tool: string, args: object) =>
          inspect(
            shipped,
            'tools/call',
            '--tool-name',
            tool,
            '--tool-args-json',
            JSON.stringify(args),
            '--protocol-era',
            mode,
          );
        expect(answerOf(await call('memory_store', payload))).to.include({ ok: true, action: 'allow' });
        const found = answerOf(await call('memory_query', { query: `inspector ${mode}`, spaces: ['private:me'] }));
        expect(JSON.stringify(found)).to.include(payload.payload_md);
      });
    });
  }

  it('reports the path of an invalid argument', async () => {
    const args = ['--tool-name', 'memory_query', '--tool-args-json', '{"query":"a","top_k":0}'];
    const { exitCode, stdout, stderr } = await inspect(shipped, 'tools/call', ...args);
    expect(exitCode).not.to.equal(0);
    expect(stdout + stderr).to.include('/top_k');
  });

  it('reads resources, templates and prompts', async () => {
    const [listed, read, templates, prompts, prompt] = await Promise.all([
      inspect(fixtures, 'resources/list'),
      inspect(fixtures, 'resources/read', '--uri', 'test://template/7/data'),
      inspect(fixtures, 'resources/templates/list'),
      inspect(fixtures, 'prompts/list'),
      inspect(
        fixtures,
        'prompts/get',
        '--prompt-name',
        'test_prompt_with_arguments',
        '--prompt-args',
        'arg1=one',
        'arg2=two',
      ),
    ]);
    expect(JSON.stringify(resultOf(listed).resources)).to.include('test://static-text');
    expect(JSON.stringify(resultOf(read).contents)).to.include('Data for ID: 7');
    expect(JSON.stringify(resultOf(templates).resourceTemplates)).to.include('test://template/{id}/data');
    expect(JSON.stringify(resultOf(prompts).prompts)).to.include('test_simple_prompt');
    expect(JSON.stringify(resultOf(prompt).messages)).to.include("arg1='one', arg2='two'");
  });

  it('polls a task until it completes', async () => {
    const args = ['--tool-name', 'slow_compute', '--tool-args-json', '{"seconds":0.1,"label":"later"}'];
    const result = resultOf(await inspect(fixtures, 'tools/call', ...args, '--protocol-era', 'modern'));
    expect(result.content[0]?.text).to.equal('done later');
  });

  it('gets an answer to each of many concurrent calls', async () => {
    const load = ['--load', '--load-requests', '200', '--load-concurrency', '16'];
    const { exitCode, stdout, stderr } = await inspect(
      fixtures,
      'tools/call',
      '--tool-name',
      'test_simple_text',
      ...load,
    );
    expect(exitCode, stderr).to.equal(0);
    expect((JSON.parse(stdout) as { result: object }).result).to.include({ requests: 200, ok: 200, errors: 0 });
  });
});
