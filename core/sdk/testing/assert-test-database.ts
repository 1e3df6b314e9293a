import { basename, extname } from 'node:path';
import type { Database } from '../host/database.js';
import { isRunFile } from './run-folder.js';

const testName = /_test(_?[0-9]+)?$/i;

/**
 * Asks the connection, not the configuration, which database it is on: nothing that destroys data runs elsewhere.
 *
 * @throws Error unless the database is one for tests.
 */
export async function assertTestDatabase(database: Pick<Database, 'dialect' | 'statement'>): Promise<void> {
  if (database.dialect === 'postgres') {
    const { rows } = await database.statement<{ name: string }>('select current_database() as name');
    assertTestName(rows[0]?.name ?? '');
    return;
  }
  const { rows } = await database.statement<{ name: string; file: string }>(
    'select name, file from pragma_database_list',
  );
  for (const { file } of rows) {
    if (file !== '' && !isRunFile(file)) assertTestName(basename(file, extname(file)));
  }
}

/** @throws Error unless the name ends in `_test`, with or without a number. */
export function assertTestName(name: string): void {
  if (testName.test(name)) return;
  throw new Error(
    `Refusing to run tests against database '${name}': name must contain '_test' at its end to prevent accidental ` +
      'data loss. Set TEST_DATABASE_NAME to a test-specific database.',
  );
}
