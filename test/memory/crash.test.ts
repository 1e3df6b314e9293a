import { expect } from 'chai';
import { eachDatabase, rounds, type ServerProcess, startServer } from 'mortise/sdk/testing';
import { memoryPlugins } from './memory-host.js';

const plugins = {
  version: 1,
  plugins: Object.fromEntries(['logbook', 'text-analysis', ...memoryPlugins].map((key) => [key, { enabled: true }])),
};

interface Stored {
  readonly ok: boolean;
  readonly memory_id: string;
}

async function store(server: ServerProcess, text: string): Promise<Stored> {
  const response = await server.post('/memory/store', { payload_md: text, target_space: 'private:crash' });
  return (await response.json()) as Stored;
}

async function find(
  server: ServerProcess,
  text: string,
): Promise<readonly { readonly id: string; readonly content: string }[]> {
  const response = await server.post('/memory/query', { query: `"${text}"`, spaces: ['private:crash'], top_k: 5 });
  return ((await response.json()) as { readonly results: readonly { readonly id: string; readonly content: string }[] })
    .results;
}

const kills = rounds(2, 20);

describe('a server that is killed during stores', () => {
  eachDatabase(
    (engine) => {
      it('has every acknowledged memory once, and an intact audit trail', async function killed() {
        this.timeout(120_000);
        let server = await startServer({ plugins, database: engine.env });
        const { folder } = server;
        const acknowledged = new Map<string, string>();
        let next = 0;
        try {
          for (let kill = 0; kill < kills; kill += 1) {
            const running = server;
            const goal = acknowledged.size + 50;
            let isDown = false;
            const client = async (): Promise<void> => {
              while (!isDown) {
                const text = `memory${String(next++).padStart(5, '0')}x`;
                const stored = await store(running, text).catch(() => undefined);
                if (stored?.ok === true) acknowledged.set(text, stored.memory_id);
                if (acknowledged.size >= goal && !isDown) {
                  isDown = true;
                  await running.end('SIGKILL');
                }
              }
            };
            await Promise.all(Array.from({ length: 8 }, client));
            server = await startServer({ plugins, database: engine.env, folder });
          }
          expect(acknowledged.size).to.be.at.least(50 * kills);
          for (const [text, id] of acknowledged) {
            const found = (await find(server, text)).filter(({ content }) => content === text);
            expect(
              found.map((item) => item.id),
              text,
            ).to.deep.equal([id]);
          }
          const report = (await (await server.fetch('/reliability/report')).json()) as {
            readonly message: string | null;
            readonly memory_stats: { readonly total: number };
            readonly audit_stats: { readonly total: number };
          };
          expect(report.message).to.equal(null);
          expect(report.memory_stats.total).to.equal(report.audit_stats.total);
        } finally {
          await server.dispose();
        }
      });
    },
    { keepRows: true },
  );
});
