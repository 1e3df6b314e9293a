/**
 * The knowledge base in the running product, compared with search libraries in separate processes: indexing files,
 * refreshes, and the same queries in interleaved rounds. The product answers over HTTP with explanations; the libraries
 * are called in their process and return ids. For qmd only the keyword search is measured, which needs no model.
 *
 * The libraries are installed into a separate folder; without it only FTS5 is measured.
 */
import { readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, until } from '../../core/sdk/testing/index.js';
import { count, folder, json, readArguments, someOf } from '../arguments.js';
import { type Corpus, writeCorpus } from './kb/corpus.js';
import { median, percentile } from './parts/closed-loop.js';
import { type Figure, figureLine, isMet } from './parts/measure.js';
import { startPeer } from './parts/peer.js';

const values = readArguments('npm run bench -- kb', 'The knowledge base, compared with search libraries.', {
  files: count('files of the large corpus', 50_000),
  small: count('files of the small one', 5_000),
  rounds: count('rounds of the same queries', 3),
  only: someOf('of the engines', ['mortise', 'fts5', 'minisearch', 'lunr', 'orama', 'qmd']),
  peers: folder('where the libraries are installed'),
  profile: folder('write CPU profiles of the server there'),
  json,
});
const seed = 1;
const changes = 10;

/** A search engine that has indexed the corpus. */
interface Engine {
  readonly name: string;
  /** Milliseconds of each query, in order. */
  ask(queries: readonly string[]): Promise<readonly number[]>;
  close(): Promise<void>;
}

/** Message of a peer that has indexed the corpus; `bytes` is 0 without a file. */
interface PeerIndex {
  readonly version: string;
  readonly seconds: number;
  readonly bytes: number;
}

interface Opened {
  readonly engine: Engine;
  readonly figures: readonly Figure[];
}

const say = (line: string): void => {
  if (!values.json) process.stderr.write(`${line}\n`);
};
const base = await mkdtemp(join(tmpdir(), 'mortise-bench-kb-'));
const figures: Figure[] = [];
const engines: Engine[] = [];
try {
  say(`writing ${values.files} files`);
  const corpus = await writeCorpus(join(base, 'workspace', 'large'), values.files, seed);
  for (const name of values.only) {
    if (name !== 'mortise' && name !== 'fts5' && values.peers === undefined) continue;
    say(`${name}: indexing`);
    const opened = name === 'mortise' ? await openMortise(corpus) : await openLibrary(name, corpus, values.peers ?? '');
    engines.push(opened.engine);
    figures.push(...opened.figures);
  }
  figures.push(...(await askInRounds(corpus.queries)));
} finally {
  await Promise.all(engines.map((engine) => engine.close()));
  await rm(base, { recursive: true, force: true });
}
const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, load: loadavg() };
if (values.json) process.stdout.write(`${JSON.stringify({ machine, figures })}\n`);
else {
  for (const figure of figures) process.stdout.write(`${figureLine(figure)}\n`);
  process.stdout.write(
    `${machine.cores} × ${machine.cpu}, Node ${machine.node}, load ${machine.load.map((one) => one.toFixed(1)).join(' ')}\n`,
  );
}
process.exitCode = figures.every((figure) => isMet(figure) !== false) ? 0 : 1;

async function askInRounds(queries: readonly string[]): Promise<readonly Figure[]> {
  const rounds = new Map<string, { readonly p50: number; readonly p95: number }[]>(
    engines.map(({ name }) => [name, []]),
  );
  for (let round = 0; round <= values.rounds; round += 1) {
    for (const engine of engines) {
      const sorted = [...(await engine.ask(queries))].sort((a, b) => a - b);
      // The first round warms up.
      if (round > 0) rounds.get(engine.name)?.push({ p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95) });
    }
  }
  return [...rounds].flatMap(([name, seen]) => {
    const isOurs = name === 'mortise';
    return [
      figure(`${name}: query p50`, median(seen.map(({ p50 }) => p50)), 'ms', isOurs ? '<= 4' : undefined),
      figure(`${name}: query p95`, median(seen.map(({ p95 }) => p95)), 'ms', isOurs ? '<= 10' : undefined),
    ];
  });
}

function figure(name: string, value: number, unit: string, target?: string): Figure {
  return { name, value, unit, ...(target === undefined ? {} : { target }) };
}

function memoryMb(pid: number): number {
  const [line = ''] = /^VmRSS:.*$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(/\d+/.exec(line)?.[0]) / 1_024;
}

async function openLibrary(name: string, corpus: Corpus, peers: string): Promise<Opened> {
  const scratch = join(base, name);
  await mkdir(scratch, { recursive: true });
  const peer = await startPeer('kb-search', [name, peers, corpus.folder, scratch]);
  const { version, seconds, bytes } = peer.hello as PeerIndex;
  const shown = `${name} ${version}`;
  return {
    engine: {
      name,
      ask: async (queries) => ((await peer.ask({ queries })) as { readonly latencies: readonly number[] }).latencies,
      close: async () => peer.close(),
    },
    figures: [
      figure(`${shown}: files indexed`, corpus.files / seconds, '/s'),
      ...(bytes === 0 ? [] : [figure(`${name}: index per byte of text`, bytes / corpus.bytes, '')]),
      figure(`${name}: memory`, memoryMb(peer.pid), 'MB'),
    ],
  };
}

async function openMortise(corpus: Corpus): Promise<Opened> {
  const folder = join(base, 'workspace');
  const small = await writeCorpus(join(folder, 'small'), values.small, seed + 1);
  const plugins = ['kb', 'text-analysis', 'embedder-hashed'];
  const server = await startServer({
    folder,
    plugins: { version: 1, plugins: Object.fromEntries(plugins.map((key) => [key, { enabled: true }])) },
    config: { kb: { repos: ['large', 'small'].map((name) => ({ name, path: name })), watch: false } },
    ...(values.profile === undefined ? {} : { env: { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${values.profile}` } }),
  });
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await server.post(path, body);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const timed = async (run: () => Promise<unknown>): Promise<number> => {
    const from = performance.now();
    await run();
    return performance.now() - from;
  };
  const refresh = (repo: string, more: object = {}) => post('/kb/refresh', { repo, wait: true, ...more });
  await until('the knowledge base', async () => (await server.fetch('/kb/stats')).ok, 30_000);
  const smallMs = await timed(() => refresh('small'));
  const coldMs = await timed(() => refresh('large'));
  const bytes = ['kb.db', 'kb.db-wal'].reduce((sum, name) => {
    return sum + (statSync(join(folder, 'data', name), { throwIfNoEntry: false })?.size ?? 0);
  }, 0);
  const nothing: number[] = [];
  const changed: number[] = [];
  for (let index = 0; index < changes; index += 1) {
    nothing.push(await timed(() => refresh('small')));
    const path = 'part-0/note-7.md';
    const word = `changed${index}`;
    await writeFile(join(small.folder, path), `# A note\n\nThis text has ${word} now.\n`);
    changed.push(
      await timed(async () => {
        await refresh('small', { paths: [path] });
        const { results } = await post('/kb/search', { repo: 'small', query: word });
        if (!Array.isArray(results) || results.length === 0) throw new Error(`${word} is not found`);
      }),
    );
    await sleep(20);
  }
  return {
    engine: {
      name: 'mortise',
      async ask(queries) {
        const latencies: number[] = [];
        for (const query of queries) latencies.push(await timed(() => post('/kb/search', { repo: 'large', query })));
        return latencies;
      },
      async close() {
        await server.end('SIGTERM');
        await server.dispose();
      },
    },
    figures: [
      figure(`mortise: files indexed, ${small.files} files`, small.files / (smallMs / 1_000), '/s', '>= 5000'),
      figure(`mortise: files indexed, ${corpus.files} files`, corpus.files / (coldMs / 1_000), '/s', '>= 5000'),
      figure(`mortise: refresh of ${small.files} files, none changed`, median(nothing), 'ms', '<= 100'),
      figure('mortise: time until a changed file is found', median(changed), 'ms', '<= 50'),
      figure('mortise: index per byte of text', bytes / (corpus.bytes + small.bytes), '', '<= 2.5'),
      figure('mortise: memory', memoryMb(server.child.pid ?? 0), 'MB', '<= 250'),
    ],
  };
}
