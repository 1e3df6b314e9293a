import { createTestDatabase } from '../test-database.js';

/** Makes a test database, tells where it is and what is left of the environment, and waits for its end. */
const dialect = process.argv[2] === 'sqlite' ? 'sqlite' : 'postgres';
try {
  const { settings } = await createTestDatabase(dialect);
  const leaked = Object.keys(process.env).filter((name) => /^(DATABASE_|POSTGRES_DSN)/.test(name));
  process.send?.({ settings, leaked });
  process.once('message', () => process.exit(0));
} catch (error) {
  process.send?.({ error: error instanceof Error ? error.message : String(error) });
  process.disconnect();
}
