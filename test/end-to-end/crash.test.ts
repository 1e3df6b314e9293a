import { expect } from 'chai';
import { eachDatabase, rounds, type ServerProcess, startServer } from 'mortise/sdk/testing';

const shipped = {
  version: 1,
  plugins: Object.fromEntries(
    ['admin', 'logbook', 'text-analysis', 'memory-backend-local', 'memory-gateway', 'mcp-server'].map((key) => [
      key,
      { enabled: true },
    ]),
  ),
};

interface Acknowledged {
  readonly text: string;
  readonly memoryId: string;
  readonly correlationId: string;
}

/** Stores one memory over MCP; resolves once the server has acknowledged it. */
async function store(server: ServerProcess, text: string): Promise<Acknowledged> {
  const response = await server.post('/mcp', {
    jsonrpc: '2.0',
    id: text,
    method: 'tools/call',
    params: { name: 'memory_store', arguments: { payload_md: text, target_space: 'private:me' } },
  });
  const { result } = (await response.json()) as { result: { content: { text: string }[] } };
  const answer = JSON.parse(result.content[0]?.text ?? '') as {
    ok: boolean;
    memory_id: string;
    correlation_id: string;
  };
  expect(answer.ok).to.equal(true);
  return { text, memoryId: answer.memory_id, correlationId: answer.correlation_id };
}

describe('a server that is killed in the middle of 200 stores', function () {
  this.timeout(120_000);

  eachDatabase((engine) => {
    let server: ServerProcess | undefined;
    afterEach(() => server?.dispose());

    for (const killAfter of rounds([1, 100], [1, 20, 60, 100, 150])) {
      it(`keeps every acknowledged store with its audit row (killed after ${killAfter} acknowledgements)`, async () => {
        const first = await startServer({ plugins: shipped, database: engine.env });
        server = first;
        const acknowledged: Acknowledged[] = [];
        const stores = Array.from({ length: 200 }, (_, index) =>
          store(first, `fact number w${index}x about the harbour`).then(
            (ack) => {
              acknowledged.push(ack);
              if (acknowledged.length === killAfter) first.child.kill('SIGKILL');
            },
            () => undefined,
          ),
        );
        await Promise.all(stores);
        await first.end('SIGKILL');
        expect(acknowledged.length).to.be.at.least(killAfter);

        server = await startServer({ plugins: shipped, database: engine.env, folder: first.folder });
        for (const { text, memoryId, correlationId } of acknowledged) {
          const word = text.split(' ')[2] ?? '';
          const found = (await (
            await server.post('/memory/query', { query: `"${word}"`, spaces: ['private:me'] })
          ).json()) as {
            results: { id: string; content: string }[];
          };
          expect(found.results, text).to.have.length(1);
          expect(found.results[0]).to.include({ id: memoryId, content: text });
          const trail = (await (await server.fetch(`/memory/audit?correlation_id=${correlationId}`)).json()) as {
            rows: { action: string; status: string }[];
          };
          expect(trail.rows, correlationId).to.have.length(1);
          expect(trail.rows[0]).to.include({ action: 'allow', status: 'success' });
        }
      });
    }
  });
});
