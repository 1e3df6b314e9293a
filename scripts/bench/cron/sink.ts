import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Texts after which the sink measures the memory of the process. */
const measureEvery = 1_000;

/** Memory of the process after a full collection. */
export interface MemorySample {
  readonly texts: number;
  /** Bytes. */
  readonly heap: number;
  /** Bytes. */
  readonly rss: number;
}

/**
 * Drops in a channel that accepts everything but `hang`, which it does not answer. Where `BENCH_MEMORY_FILE` is set, it
 * appends a {@link MemorySample} as a line of JSON after each {@link measureEvery} texts.
 */
export async function dropInSink(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const manifest = {
    manifestVersion: 1,
    key: 'bench-sink',
    version: '0.0.0',
    title: 'Bench sink',
    summary: 'A channel that accepts everything.',
    entry: 'index.js',
    contributes: { channel: ['bench-sink'] },
  };
  await writeFile(join(folder, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(
    join(folder, 'index.js'),
    `import { appendFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const file = process.env.BENCH_MEMORY_FILE;
let texts = 0;

function measure() {
  collect();
  const { heapUsed: heap, rss } = process.memoryUsage();
  appendFileSync(file, JSON.stringify({ texts, heap, rss }) + '\\n');
}

export default () => ({
  key: 'bench-sink',
  register: (host) =>
    void host.contribute('channel', 'bench-sink', {
      sendText: ({ text }, { signal }) =>
        new Promise((resolve, reject) => {
          texts += 1;
          if (file && texts % ${measureEvery} === 0) measure();
          if (text !== 'hang') resolve();
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    }),
});`,
  );
}
