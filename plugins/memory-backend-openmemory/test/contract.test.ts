import {
  type FakeDialect,
  type FakeOpenMemory,
  startFakeOpenMemory,
} from 'mortise/contracts/memory-backend-openmemory/testing';
import { createTestHost, memoryBackendContract } from 'mortise/sdk/testing';

for (const dialect of ['search', 'query'] as const satisfies readonly FakeDialect[]) {
  describe(`with a server of the dialect ${dialect}`, () => {
    const servers: FakeOpenMemory[] = [];
    after(() => Promise.all(servers.map((server) => server.stop())));

    const open = async (database: Readonly<Record<string, string>>, isUp: boolean) => {
      // Hits can be assigned to spaces only by their metadata.
      const server = await startFakeOpenMemory({ dialect, hitsWithMetadata: true });
      servers.push(server);
      if (!isUp) await server.stop();
      const env = { OPENMEMORY_BASE_URL: server.origin, MORTISE_OPENMEMORY_DIALECT: dialect };
      return createTestHost({ plugins: ['memory-backend-openmemory'], database, env });
    };

    memoryBackendContract('the OpenMemory backend', {
      host: (database) => open(database, true),
      unreachable: (database) => open(database, false),
      key: 'openmemory',
    });
  });
}
