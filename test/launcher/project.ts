import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { checkout } from './modules.js';

/** A small project in a temporary folder, with the real launcher and a fake server. */
export interface Project {
  readonly root: string;
  write(path: string, text: string): void;
  remove(): void;
}

/**
 * @param options.linked false: without node_modules, for tests of the installation
 */
export function createProject({ linked = true }: { readonly linked?: boolean } = {}): Project {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'mortise-launcher-')));
  for (const name of [
    'bin',
    'scripts',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.scripts.json',
  ]) {
    // Other scripts, such as benchmarks, need the product and are left out.
    cpSync(join(checkout, name), join(root, name), { recursive: true, filter: (source) => !source.endsWith('.ts') });
  }
  for (const name of ['biome.json', '.mocharc.json', '.gitignore']) cpSync(join(checkout, name), join(root, name));
  if (linked) symlinkSync(realpathSync(join(checkout, 'node_modules')), join(root, 'node_modules'), 'junction');
  const project: Project = {
    root,
    write(path, text) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    remove() {
      rmSync(root, { recursive: true, force: true });
    },
  };
  project.write('core/main.ts', fakeServer);
  project.write('core/cli/main.ts', `console.log('command', process.argv.slice(2).join(' '));\nprocess.exit(4);\n`);
  return project;
}

/**
 * Reports its events on stdout, one per line. The first argument selects its behaviour:
 *   serve CODE         exits with CODE once stdin is closed
 *   exit CODE          exits immediately
 *   exit-first CODE    exits immediately, serves after a crash
 *   crash SIGNAL       kills itself with the signal
 */
const fakeServer = `const [mode = 'serve', value = '0'] = process.argv.slice(2);
const env = (name: string) => process.env[name] ?? '-';
const crashed = env('MORTISE_CRASHED') === '1';
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGWINCH'] as const;
for (const signal of signals) process.on(signal, () => console.log('signal', signal));
process.on('disconnect', () => {
  console.log('disconnect');
  process.exit(0);
});
console.log('up', process.pid, 'supervised', env('MORTISE_SUPERVISED'), 'crashed', env('MORTISE_CRASHED'));
console.log('arguments', process.argv.slice(2).join(' '));
if (mode === 'exit' || (mode === 'exit-first' && !crashed)) process.exit(Number(value));
if (mode === 'crash') process.kill(process.pid, value);
process.stdin.on('end', () => process.exit(mode === 'serve' ? Number(value) : 0));
process.stdin.resume();
`;
