/**
 * Measures a start, from the spawn of the process to the line that reports its address, on SQLite, with the shipped plugins
 * and enough empty plugins to make twenty. The first start creates the database; it is shown, but not counted.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from '../../core/sdk/testing/index.js';
import { count, json, readArguments } from '../arguments.js';

const values = readArguments('npm run bench -- boot', 'The time of a start, from its beginning to listening.', {
  runs: count('starts', 10),
  json,
});
const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const plugins = 20;

interface PluginsFile {
  readonly version: 1;
  readonly plugins: Record<string, { enabled: boolean; required?: boolean }>;
}

const folder = await mkdtemp(join(tmpdir(), 'mortise-boot-'));
const wanted = JSON.parse(await readFile(join(projectDir, 'plugins.json'), 'utf8')) as PluginsFile;
const shipped = Object.values(wanted.plugins).filter((plugin) => plugin.enabled).length;
for (let index = shipped; index < plugins; index += 1) {
  const key = `nothing-${index}`;
  const own = join(folder, 'plugins', key);
  await mkdir(own, { recursive: true });
  await writeFile(
    join(own, 'plugin.json'),
    JSON.stringify({ manifestVersion: 1, key, version: '1.0.0', title: key, summary: 'Does nothing.' }),
  );
  await writeFile(join(own, 'index.js'), `export default () => ({ key: '${key}', register() {} });\n`);
  wanted.plugins[key] = { enabled: true };
}
await writeFile(join(folder, 'plugins.json'), JSON.stringify(wanted));

/** Milliseconds from the spawn to the line. */
function start(): Promise<number> {
  const from = performance.now();
  const child = spawn(process.execPath, [...nodeFlags, join(projectDir, 'dist', 'core', 'main.js')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      MORTISE_DATA_DIR: join(folder, 'data'),
      MORTISE_PLUGINS_DIR: join(folder, 'plugins'),
      MORTISE_PLUGINS_FILE: join(folder, 'plugins.json'),
      MORTISE_PORT: '0',
    },
  });
  let output = '';
  let took = 0;
  return new Promise((done, fail) => {
    const look = (text: string): void => {
      output += text;
      if (took > 0 || !output.includes('listens on')) return;
      took = performance.now() - from;
      child.kill('SIGTERM');
    };
    child.stdout.setEncoding('utf8').on('data', look);
    child.stderr.setEncoding('utf8').on('data', look);
    child.once('exit', () => (took > 0 ? done(took) : fail(new Error(output))));
  });
}

try {
  const first = await start();
  const runs: number[] = [];
  for (let run = 0; run < values.runs; run += 1) runs.push(await start());
  runs.sort((a, b) => a - b);
  const median = runs[Math.floor(runs.length / 2)] ?? 0;
  const report = {
    plugins: Math.max(plugins, shipped),
    first_ms: Math.round(first),
    median_ms: Math.round(median),
    fastest_ms: Math.round(runs[0] ?? 0),
    slowest_ms: Math.round(runs.at(-1) ?? 0),
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    load: loadavg()[0],
  };
  process.stdout.write(
    values.json
      ? `${JSON.stringify(report)}\n`
      : `${report.plugins} plugins, start to listening: median ${report.median_ms} ms (${report.fastest_ms} to ${report.slowest_ms}), first ${report.first_ms} ms; ${report.node}, ${report.cpu}, load ${report.load?.toFixed(1)}\n`,
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}
