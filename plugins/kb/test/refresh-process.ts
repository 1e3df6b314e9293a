import { createTestHost } from 'mortise/sdk/testing';
import { createOperations } from '../threads/operations.js';

/** Refreshes `root` into `index`, and kills itself once it has read `killAfter` files (never for a negative number). */
const [root = '', index = '', killAfter = '-1'] = process.argv.slice(2);
const host = await createTestHost({ plugins: ['text-analysis'], listen: false });
const operations = createOperations(index, host.service('text-analysis'));
await host.stop();
let read = 0;
operations.refresh(
  {
    name: 'default',
    root,
    rules: { include: ['**/*.md'], exclude: [], gitignore: false, followSymlinks: false },
    maxFileBytes: 1_000_000,
    limits: { maxTokens: 100, minTokens: 0 },
    docTypes: [],
    useGit: false,
  },
  { mode: 'incremental' },
  {
    progress: () => undefined,
    isCancelled: () => false,
    begin: () => {
      if (read === Number(killAfter)) process.kill(process.pid, 'SIGKILL');
      read += 1;
    },
  },
);
operations.close();
process.exit(0);
