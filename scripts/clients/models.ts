import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startServer } from '../../core/sdk/testing/index.js';
import { startScriptedAgent } from './scripted-agent.js';

/**
 * Released clients of the model APIs against a server, whose providers are scripted: each calls one tool and gets one
 * answer, once passed through to a provider of the same API and once translated for another one.
 *
 *     npm run test:clients -- models [name …] [--json]
 */
const { values, positionals } = parseArgs({ options: { json: { type: 'boolean' } }, allowPositionals: true });
const [folder = '', ...chosen] = positionals;

const claude = 'anthropic/claude-sonnet-4-5';
const gpt = 'openai/gpt-4o-mini';

/** The APIs that each program speaks. */
const programs: Readonly<Record<string, readonly string[]>> = {
  'ai-sdk': ['messages', 'responses', 'chat', 'compatible'],
  langchain: ['messages', 'responses', 'chat'],
  'claude-code': ['messages'],
  codex: ['responses'],
};

interface Result {
  readonly client: string;
  readonly api: string;
  readonly model: string;
  readonly ok: boolean;
  /** Why it failed. */
  readonly reason?: string;
}

const upstream = await startScriptedAgent();
const server = await startServer({
  limitMs: 60_000,
  env: {
    ANTHROPIC_API_KEY: 'sk-ant-scripted',
    ANTHROPIC_BASE_URL: upstream.baseUrl,
    OPENAI_API_KEY: 'sk-scripted',
    OPENAI_BASE_URL: `${upstream.baseUrl}/v1`,
  },
});
const results: Result[] = [];
try {
  for (const client of chosen.length > 0 ? chosen : Object.keys(programs)) {
    for (const api of programs[client] ?? []) {
      for (const model of [claude, gpt]) results.push(await test(client, api, model));
    }
  }
} finally {
  await server.dispose();
  await upstream.stop();
}
if (values.json) console.log(JSON.stringify({ results }));
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;

async function test(client: string, api: string, model: string): Promise<Result> {
  const reason = await run(client, api, model).then(
    (output) =>
      /The result is (?:pelican-)?42\./.test(output) ? undefined : `answered ${JSON.stringify(output.trim())}`,
    (error: Error) => error.message,
  );
  if (!values.json) console.log(`${client}, ${api}, ${model}: ${reason ?? 'calls a tool and answers'}`);
  const facts = { client, api, model };
  return reason === undefined ? { ...facts, ok: true } : { ...facts, ok: false, reason };
}

/** @returns the program's output */
function run(client: string, api: string, model: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = [join(folder, `${client}.mjs`), server.origin, api, model];
    execFile(process.execPath, args, { cwd: folder, timeout: 90_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(error.killed ? 'gave no answer within 90 s' : stderr.trim().slice(-2_000)));
      else resolve(stdout);
    });
  });
}
