import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { destructiveStatements } from './destructive-statements.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..', '..');

function testFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.includes('node_modules') && file.split(sep).includes('test'));
}

const found = (source: string) => destructiveStatements('sample.ts', source);

describe('statements that empty a table or drop it', () => {
  for (const source of [
    'await trx.raw("truncate logbook_kv");',
    "await database.statement('delete from {a.b}');",
    "await database.query()('a').truncate();",
    "run('drop table x');",
    'run(`update x set a = 1;\n  delete from {a.b}\n`);',
    'run(`delete\n  from {a.b}`);',
    'run(`delete from\n  {a.b}\n  returning id`);',
    "run('delete from ' + table);",
    "run('delete from {a.b} ' + 'returning id');",
    `run('delete from "a b"');`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source, to be read
    'run(`delete from ${tables[0]} returning *`);',
    'run(`delete from {a.b} where id = ?; delete from {a.c} as c`);',
    'run(`truncate\n  {a.b}`);',
    'run(`drop\n  schema governance cascade`);',
    "await database.query()('a')\n  .truncate();",
    "await database.query()('a').delete();",
    "await database.query()('a').del();",
  ]) {
    it(`are recognised: ${JSON.stringify(source)}`, () => {
      expect(found(source)).to.have.length(1);
    });
  }

  for (const source of [
    "statement('delete from {a.b} where id = ?');",
    'statement(`delete from {a.b} as b\n  where id = 1`);',
    "statement('delete from ' + table + ' where id = ?');",
    "seen.delete('a'); seen.clear();",
    "query('a').where({ id: 1 }).delete();",
    "await truncate(join(root, 'a'), 3);",
  ]) {
    it(`do not include: ${JSON.stringify(source)}`, () => {
      expect(found(source)).to.deep.equal([]);
    });
  }

  it('occur in no test, only in the harness, behind its guard', () => {
    const files = ['core', 'plugins', 'test'].flatMap((folder) => testFiles(join(root, folder)));
    expect(files.length).to.be.greaterThan(10);
    // The samples above, tests that damage an index in a separate file, and tests of missing tables, which drop their own
    // tables or those of a separate database.
    const exempt = [
      'core/sdk/testing/test/destructive-statements',
      'plugins/kb/test/',
      'core/database/test/migrations',
      'test/memory/lost-database',
    ];
    const named = files
      .map((file) => [relative(root, file).replaceAll(sep, '/'), file] as const)
      .filter(([name]) => !exempt.some((path) => name.startsWith(path)))
      .flatMap(([name, file]) =>
        destructiveStatements(file, readFileSync(file, 'utf8')).map((line) => `${name}: ${line}`),
      );
    expect(named).to.deep.equal([]);
  });
});
