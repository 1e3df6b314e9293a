/** The test kit: the real platform and real databases, with fakes only for external systems. */
export { openDatabase } from '../../database/open-database.js';
export * from './contracts/index.js';
export { assertTestDatabase } from './control-connection.js';
export * from './create-test-host.js';
export { type DatabaseProbe, databaseProbe } from './database-probe.js';
export { eachDatabase, oneDatabase, type TestEngine } from './databases.js';
export { type FrozenPostgres, freezePostgres } from './freeze-postgres.js';
export { rounds, seededRandom } from './seeded-random.js';
export {
  childEnvironment,
  nodeFlags,
  type ServerProcess,
  type ServerProcessOptions,
  startServer,
} from './server-process.js';
export { silentLog } from './silent-log.js';
export { createTestDatabase, ownPostgres, type TestDatabase, temporaryPath, testDialects } from './test-database.js';
export { until } from './until.js';
