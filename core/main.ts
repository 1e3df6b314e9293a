import { enableCompileCache, flushCompileCache } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

// Most of a start is compiling modules. What was compiled is kept; it must be on before the first of them is loaded,
// which is why this file imports nothing of the project. A folder that cannot be written costs only the time.
const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
enableCompileCache(join(projectDir, '.runtime', 'compile-cache'));

const { run } = await import('./app/run.js');
await run(projectDir);
// Kept now rather than at the end: a server that is killed should start as fast the next time.
flushCompileCache();
