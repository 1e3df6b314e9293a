/** What tests of plugins may import: real databases, and the platform around them. */
export { assertTestDatabase } from './assert-test-database.js';
export { eachDatabase, type TestEngine } from './databases.js';
export { silentLog } from './silent-log.js';
export { createTestDatabase, ownPostgres, type TestDatabase, temporaryPath, testDialects } from './test-database.js';
