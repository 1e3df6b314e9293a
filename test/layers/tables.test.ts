import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { checkout as root } from '../launcher/modules.js';

/** Where a plugin names a table: `{schema.table}` in SQL, or `'schema.table'` for the query builder. */
function tablesIn(text: string, schemas: ReadonlySet<string>): readonly string[] {
  const names = [...text.matchAll(/\{([a-z_]+\.[a-z_]+)\}|'([a-z_]+\.[a-z_]+)'/g)].map(
    ([, sql, built]) => sql ?? built ?? '',
  );
  return names.filter((name) => schemas.has(name.slice(0, name.indexOf('.'))));
}

/** Tables that several plugins name, with these plugins. */
function sharedTables(
  files: readonly (readonly [plugin: string, text: string])[],
  schemas: ReadonlySet<string>,
): readonly string[] {
  const owners = new Map<string, Set<string>>();
  for (const [plugin, text] of files) {
    for (const table of tablesIn(text, schemas)) owners.set(table, (owners.get(table) ?? new Set()).add(plugin));
  }
  return [...owners]
    .filter(([, plugins]) => plugins.size > 1)
    .map(([table, plugins]) => `${table}: ${[...plugins].join(', ')}`);
}

describe('the tables of a plugin', () => {
  const manifests = globSync('plugins/*/plugin.json', { cwd: root }).map((file) => {
    const { permissions } = JSON.parse(readFileSync(resolve(root, file), 'utf8')) as {
      readonly permissions?: { readonly schemas?: readonly string[] };
    };
    return permissions?.schemas ?? [];
  });
  const schemas = new Set(manifests.flat());

  it('are named by no other plugin, even where plugins share a schema', () => {
    const files = globSync('plugins/*/**/*.ts', { cwd: root })
      .filter((file) => !/\/(test|testing)\//.test(file))
      .map((file) => [file.split('/')[1] ?? '', readFileSync(resolve(root, file), 'utf8')] as const);
    expect(new Set(files.flatMap(([, text]) => tablesIn(text, schemas))).size).to.be.above(30);
    expect(sharedTables(files, schemas)).to.deep.equal([]);
  });

  it('include the outbox, which only the files of its folder change', () => {
    const changes = /(?:insert into|update|delete from) \{logbook\.outbox_memory\}/;
    const files = globSync('plugins/logbook/**/*.ts', { cwd: root })
      .filter((file) => !/\/(test|testing|migrations)\//.test(file))
      .filter((file) => changes.test(readFileSync(resolve(root, file), 'utf8')));
    expect(files.length).to.be.above(0);
    expect(files.filter((file) => !file.startsWith('plugins/logbook/outbox/'))).to.deep.equal([]);
  });

  it('are reported when another plugin reads them', () => {
    const files = [
      ['one', 'create table {agent.lamps} (id text)'],
      ['two', "database.query()(database.table('agent.lamps'))"],
    ] as const;
    expect(sharedTables(files, new Set(['agent']))).to.deep.equal(['agent.lamps: one, two']);
  });
});
