import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..', '..');

/** Statements that take everything. A `delete` that goes on with `where` does not. */
const destructive = [
  /\btruncate\s+(table\s+)?["{`$a-z]/i,
  /\bdrop\s+(table|schema|database)\b/i,
  /\bdelete\s+from\s+[^\s'"`]+\s*(?:['"`;]|$)/im,
  /\.(truncate|dropTable|dropTableIfExists|dropSchema)\(/,
];

function testFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.includes('node_modules') && file.split(sep).includes('test'));
}

function findings(text: string): string[] {
  return text.split('\n').filter((line) => destructive.some((pattern) => pattern.test(line)));
}

describe('statements that empty a table or drop it', () => {
  it('are recognised', () => {
    for (const line of [
      'await trx.raw("truncate logbook_kv");',
      "await database.statement('delete from {a.b}');",
      "await database.query()('a').truncate();",
      'drop table x',
    ]) {
      expect(findings(line), line).to.have.length(1);
    }
    expect(findings(`statement('delete from {a.b} where id = ?')`)).to.have.length(0);
  });

  it('stand in no test: the harness alone has them, behind its guard', () => {
    const files = ['core', 'plugins', 'test'].flatMap((folder) => testFiles(join(root, folder)));
    expect(files.length).to.be.greaterThan(10);
    const own = fileURLToPath(import.meta.url)
      .replace(`${sep}dist${sep}`, sep)
      .replace(/\.js$/, '.ts');
    const found = files
      .filter((file) => file !== own)
      .flatMap((file) => findings(readFileSync(file, 'utf8')).map((line) => `${relative(root, file)}: ${line.trim()}`));
    expect(found).to.deep.equal([]);
  });
});
