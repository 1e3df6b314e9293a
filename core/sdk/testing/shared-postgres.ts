/**
 * Starts the PostgreSQL server that all processes of a test run share, prints its port, and stops it when its standard
 * input closes, however the run ends. The processes find it through `MORTISE_TEST_POSTGRES_PORT`.
 */
import { ownPostgres, testServerAddress } from './test-database.js';

const server = await ownPostgres();
await testServerAddress(server.port);
process.stdout.write(`${server.port}\n`);
process.stdin.once('close', () => void server.dispose().finally(() => process.exit(0))).resume();
