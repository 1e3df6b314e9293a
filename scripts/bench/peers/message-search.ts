import { createRequire } from 'node:module';
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** A message with its index. */
interface Entry {
  readonly id: number;
  readonly text: string;
}

/** The ids of the best messages, best first. */
type Search = (query: string) => readonly number[];

type LunrIndex = { search(query: string): readonly { readonly ref: string }[] };

const [name = '', peers = ''] = process.argv.slice(2);
const require = createRequire(join(peers, 'package.json'));

function openFts5(entries: readonly Entry[]): Search {
  const database = new Database(':memory:');
  database.exec('create virtual table messages using fts5(text, tokenize = "porter")');
  const add = database.prepare('insert into messages (rowid, text) values (?, ?)');
  for (const { id, text } of entries) add.run([id, text]);
  const find = database.prepare('select rowid as id from messages where messages match ? order by rank limit 10');
  return (query) => {
    const words = query.split(' ').map((word) => `"${word}"`);
    return (find.all([words.join(' OR ')]) as { readonly id: number }[]).map(({ id }) => id);
  };
}

function openMiniSearch(entries: readonly Entry[]): Search {
  const MiniSearch = require('minisearch') as new (
    options: object,
  ) => { addAll(entries: readonly Entry[]): void; search(query: string): readonly { readonly id: number }[] };
  const index = new MiniSearch({ fields: ['text'] });
  index.addAll(entries);
  return (query) => index.search(query).map(({ id }) => id);
}

function openLunr(entries: readonly Entry[]): Search {
  const lunr = require('lunr') as (
    build: (this: { field(name: string): void; add(entry: Entry): void }) => void,
  ) => LunrIndex;
  const index = lunr(function build() {
    this.field('text');
    for (const entry of entries) this.add(entry);
  });
  return (query) => index.search(query).map(({ ref }) => Number(ref));
}

const libraries: Readonly<Record<string, (entries: readonly Entry[]) => Search>> = {
  fts5: openFts5,
  minisearch: openMiniSearch,
  lunr: openLunr,
};

const open = libraries[name];
if (!open) throw new Error(`There is no peer ${name}.`);
/** One index for each conversation. */
const searches = new Map<number, Search>();

interface Messages {
  readonly messages: readonly { readonly text: string; readonly conversation: number }[];
}

interface Question {
  readonly query: string;
  readonly conversation: number;
}

process.on('message', (message: Messages | Question) => {
  if ('query' in message) {
    process.send?.(searches.get(message.conversation)?.(message.query) ?? []);
    return;
  }
  const entries = message.messages.map(({ text, conversation }, id) => ({ id, text, conversation }));
  for (const [conversation, group] of Map.groupBy(entries, (entry) => entry.conversation)) {
    searches.set(conversation, open(group));
  }
  process.send?.({ indexed: entries.length });
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
