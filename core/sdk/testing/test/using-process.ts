import { createTestDatabase } from '../test-database.js';

/** Creates a test database, reports its location and leaked environment variables, and waits for a message to exit. */
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
