import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startServer } from '../../core/sdk/testing/index.js';
import { startScriptedMemory } from './scripted-memory.js';

/**
 * Released MCP clients against a server, over HTTP+SSE: each connects, stores a memory and finds it again.
 *
 *     npm run test:clients -- mcp [name …] [--json]
 */
const { values, positionals } = parseArgs({ options: { json: { type: 'boolean' } }, allowPositionals: true });
const [folder = '', ...chosen] = positionals;
const programs = ['sdk-v1', 'sdk-v2', 'mcp-remote', 'langchain', 'ai-sdk', 'python-wire', 'claude-code'];

interface Result {
  readonly client: string;
  readonly ok: boolean;
  /** Why it failed. */
  readonly reason?: string;
}

const model = await startScriptedMemory('claude-code');
const server = await startServer({ limitMs: 60_000 });
const results: Result[] = [];
try {
  for (const client of chosen.length > 0 ? chosen : programs) {
    const reason = await run(client, `${server.origin}/mcp`).then(
      (output) => fault(client, output),
      (error: Error) => error.message,
    );
    results.push(reason === undefined ? { client, ok: true } : { client, ok: false, reason });
    if (!values.json) console.log(reason === undefined ? `${client}: stores and queries` : `${client}: ${reason}`);
  }
} finally {
  await server.dispose();
  await model.stop();
}
if (values.json) console.log(JSON.stringify({ results }));
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;

/** @returns the program's output */
function run(client: string, url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, timeout: 60_000 };
    execFile(
      process.execPath,
      [join(folder, `${client}.mjs`), url, model.baseUrl],
      options,
      (error, stdout, stderr) => {
        if (error) reject(new Error(error.killed ? 'gave no answer within 60 s' : stderr.trim().slice(-2_000)));
        else resolve(stdout);
      },
    );
  });
}

/** The fault in a client's results; undefined when it found the stored memory. */
function fault(client: string, output: string): string | undefined {
  const { stored, found } = JSON.parse(output) as { readonly stored: string; readonly found: string };
  const { ok } = JSON.parse(stored) as { readonly ok: unknown };
  if (ok !== true) return `the memory was not stored: ${stored}`;
  return found.includes(`The pelican of ${client} is asleep.`) ? undefined : `the memory was not found: ${found}`;
}
