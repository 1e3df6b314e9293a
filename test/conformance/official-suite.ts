import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageProgram } from './command.js';

/** One check in the suite's `checks.json`. */
interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly description: string;
  readonly errorMessage?: string;
}

export interface SuiteRun {
  /** Number of scenarios that the suite announced. */
  readonly announced: number;
  readonly checks: ReadonlyMap<string, readonly Check[]>;
  readonly exitCode: number | null;
  /** Its complete output. */
  readonly output: string;
}

const program = packageProgram('@modelcontextprotocol/conformance', 'conformance');

/** Runs the official suite against a server, in a separate process, and reads its result files. */
export async function runSuite(origin: string, args: readonly string[]): Promise<SuiteRun> {
  const results = await mkdtemp(join(tmpdir(), 'mortise-conformance-'));
  try {
    const command = [program, 'server', '--url', `${origin}/mcp`, '--output-dir', results, ...args];
    const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const [exitCode] = (await once(child, 'close')) as [number | null];
    const announced = Number(/^Running .* \((\d+) scenarios\)/m.exec(output)?.[1] ?? Number.NaN);
    return { announced, checks: await readChecks(results), exitCode, output };
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}

async function readChecks(folder: string): Promise<ReadonlyMap<string, readonly Check[]>> {
  const found = new Map<string, readonly Check[]>();
  for (const name of await readdir(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/.exec(name)?.[1] ?? name;
    found.set(scenario, JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')) as readonly Check[]);
  }
  return found;
}

/** `scenario: check: message` of every check with one of these statuses. */
export function checksWith(run: SuiteRun, ...statuses: readonly Check['status'][]): readonly string[] {
  return [...run.checks].flatMap(([scenario, checks]) =>
    checks
      .filter(({ status }) => statuses.includes(status))
      .map(({ id, errorMessage, description }) => `${scenario}: ${id}: ${errorMessage ?? description}`),
  );
}

export function countOf(run: SuiteRun, status: Check['status']): number {
  return checksWith(run, status).length;
}
