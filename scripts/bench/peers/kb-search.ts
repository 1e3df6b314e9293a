import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';

/** A search library that indexes a folder of Markdown files in this process. */
interface Library {
  readonly version: string;
  /** Reads and indexes all files. @returns bytes of the index on disk; 0 where it is only in memory */
  index(): Promise<number>;
  /** The ten best. */
  search(query: string): Promise<number> | number;
}

const [name = '', peers = '', corpus = '', scratch = ''] = process.argv.slice(2);
const require = createRequire(join(peers, 'package.json'));

function versionOf(module: string): string {
  const { version } = JSON.parse(readFileSync(join(peers, 'node_modules', module, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}

interface Note {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

function* notes(): Generator<Note> {
  for (const entry of readdirSync(corpus, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const id = join(entry.parentPath, entry.name);
    const text = readFileSync(id, 'utf8');
    yield { id, title: text.slice(2, text.indexOf('\n')), text };
  }
}

function openFts5(): Library {
  const file = join(scratch, 'fts5.db');
  const database = new Database(file);
  database.pragma('journal_mode = wal');
  database.exec('create virtual table notes using fts5(id unindexed, title, text)');
  const add = database.prepare('insert into notes (id, title, text) values (?, ?, ?)');
  const find = database.prepare('select id from notes where notes match ? order by bm25(notes, 0, 1.2, 1) limit 10');
  return {
    version: (database.prepare('select sqlite_version() as version').get() as { version: string }).version,
    async index() {
      database.exec('begin');
      for (const { id, title, text } of notes()) add.run([id, title, text]);
      database.exec('commit');
      database.pragma('wal_checkpoint(truncate)');
      return statSync(file).size;
    },
    search: (query) => find.all([query.split(' ').join(' OR ')]).length,
  };
}

function openMiniSearch(): Library {
  const MiniSearch = require('minisearch') as new (
    options: object,
  ) => { add(note: Note): void; search(query: string): readonly unknown[] };
  const mini = new MiniSearch({ fields: ['title', 'text'], searchOptions: { boost: { title: 1.2 } } });
  return {
    version: versionOf('minisearch'),
    async index() {
      for (const note of notes()) mini.add(note);
      return 0;
    },
    search: (query) => mini.search(query).slice(0, 10).length,
  };
}

function openLunr(): Library {
  const lunr = require('lunr') as (build: (this: LunrBuilder) => void) => { search(query: string): readonly unknown[] };
  let index: ReturnType<typeof lunr>;
  return {
    version: versionOf('lunr'),
    async index() {
      index = lunr(function build() {
        this.field('title', { boost: 1.2 });
        this.field('text');
        for (const note of notes()) this.add(note);
      });
      return 0;
    },
    search: (query) => index.search(query).slice(0, 10).length,
  };
}

interface LunrBuilder {
  field(name: string, options?: object): void;
  add(note: Note): void;
}

function openOrama(): Library {
  const orama = require('@orama/orama') as {
    create(options: object): object;
    insert(database: object, note: Note): unknown;
    search(database: object, options: object): Promise<{ readonly hits: readonly unknown[] }>;
  };
  const database = orama.create({ schema: { title: 'string', text: 'string' } });
  return {
    version: versionOf('@orama/orama'),
    async index() {
      for (const note of notes()) await orama.insert(database, note);
      return 0;
    },
    search: async (query) => (await orama.search(database, { term: query, limit: 10 })).hits.length,
  };
}

async function openQmd(): Promise<Library> {
  const entry = pathToFileURL(join(peers, 'node_modules', '@tobilu', 'qmd', 'dist', 'index.js')).href;
  const { createStore } = (await import(entry)) as { createStore(options: object): Promise<QmdStore> };
  const file = join(scratch, 'qmd.db');
  const store = await createStore({
    dbPath: file,
    config: { collections: { bench: { path: corpus, pattern: '**/*.md' } } },
  });
  return {
    version: versionOf('@tobilu/qmd'),
    async index() {
      await store.update();
      return statSync(file).size;
    },
    // The part of its search that needs no model.
    search: async (query) => (await store.searchLex(query, { limit: 10 })).length,
  };
}

interface QmdStore {
  update(): Promise<unknown>;
  searchLex(query: string, options: object): Promise<readonly unknown[]>;
}

const libraries: Readonly<Record<string, () => Library | Promise<Library>>> = {
  fts5: openFts5,
  minisearch: openMiniSearch,
  lunr: openLunr,
  orama: openOrama,
  qmd: openQmd,
};

const library = await libraries[name]?.();
if (!library) throw new Error(`There is no peer ${name}.`);
const from = performance.now();
const bytes = await library.index();
const seconds = (performance.now() - from) / 1_000;
process.send?.({ version: library.version, seconds, bytes });
process.on('message', async ({ queries }: { readonly queries: readonly string[] }) => {
  const latencies: number[] = [];
  let empty = 0;
  for (const query of queries) {
    const start = performance.now();
    if ((await library.search(query)) === 0) empty += 1;
    latencies.push(performance.now() - start);
  }
  process.send?.({ latencies, empty });
});
process.on('disconnect', () => process.exit());
