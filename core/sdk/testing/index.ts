/** What plugin tests import: the real platform and real databases, with fakes only at the outermost edges. */
export { openDatabase } from '../../database/open-database.js';
export { assertTestDatabase } from './assert-test-database.js';
export { childEnvironment, nodeFlags } from './child-process.js';
export * from './contracts/index.js';
export { contributing } from './contributing.js';
export * from './create-test-host.js';
export { type DatabaseProbe, databaseProbe } from './database-probe.js';
export { eachDatabase, oneDatabase, type TestEngine } from './databases.js';
export { type FrozenPostgres, freezePostgres } from './freeze-postgres.js';
export { rounds } from './rounds.js';
export { seededRandom } from './seeded-random.js';
export { type ServerProcess, type ServerProcessOptions, startServer } from './server-process.js';
export { silentLog } from './silent-log.js';
export {
  createTestDatabase,
  ownPostgres,
  type TestDatabase,
  temporaryFolder,
  temporaryPath,
  testDialects,
} from './test-database.js';
export { until } from './until.js';
