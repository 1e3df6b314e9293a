import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { expect } from 'chai';
import type { Finding } from 'mortise/sdk';
import { type ServerProcess, startServer, until } from 'mortise/sdk/testing';
import type { Instance } from '../../sdk/host/instances.js';
import { type Neighbours, watchNeighbours } from '../replicas.js';

const ended = spawnSync(process.execPath, ['-e', '']).pid;

function instance(id: string, facts: Partial<Instance> = {}): Instance {
  return { id, host: 'elsewhere', pid: 1, startedAt: '2026-01-01T00:00:00.000Z', alive: true, ...facts };
}

describe('servers on one data directory', () => {
  const servers: ServerProcess[] = [];
  let neighbours: Neighbours | undefined;
  afterEach(async () => {
    await neighbours?.dispose();
    for (const server of servers.splice(0).reverse()) await server.dispose();
  });

  async function watch(list: () => readonly Instance[], lines: string[] = []): Promise<Neighbours> {
    const note = (_fields: object, line?: string): void => void lines.push(line ?? '');
    neighbours = await watchNeighbours({
      instances: { id: 'me', isAlive: async () => true, list: async () => list() },
      dataDir: '/data',
      log: { trace: note, debug: note, info: note, warn: note, error: note },
      everyMs: 5,
    });
    return neighbours;
  }

  it('are reported in the log and as a finding of the second server', async () => {
    const plugins = { version: 1, plugins: { admin: { enabled: true, required: true } } };
    const first = await startServer({ plugins });
    servers.push(first);
    expect(first.output()).not.to.include('data_dir_shared');
    const second = await startServer({ plugins, folder: first.folder });
    servers.push(second);
    expect(second.output()).to.include('data_dir_shared').and.to.include(`process ${first.child.pid} on `);
    const { findings } = (await (await second.fetch('/admin/plugins/doctor')).json()) as { findings: Finding[] };
    expect(findings.map(({ severity, code }) => `${severity} ${code}`)).to.include('warning data_dir_shared');
  });

  it('are not reported after the previous one was killed', async () => {
    const plugins = { version: 1, plugins: { admin: { enabled: true, required: true } } };
    const first = await startServer({ plugins });
    servers.push(first);
    await first.end('SIGKILL');
    const second = await startServer({ plugins, folder: first.folder });
    servers.push(second);
    expect(second.output()).not.to.include('data_dir_shared');
  });

  it('are only other live instances, without dead ones and reused pids', async () => {
    const here = { host: hostname() };
    const rows = [
      instance('me'),
      instance('old', { alive: false }),
      instance('killed', { ...here, pid: ended }),
      instance('same number', { ...here, pid: process.pid }),
    ];
    expect((await watch(() => rows)).findings()).to.deep.equal([]);
  });

  it('are reported once if they stay, and removed when they end', async () => {
    let looks = 0;
    let stays = false;
    const lines: string[] = [];
    const made = await watch(() => {
      looks += 1;
      if (looks === 3) return [instance('passing')];
      return stays ? [instance('staying')] : [];
    }, lines);
    await until(() => looks >= 5);
    expect(lines).to.deep.equal([]);
    stays = true;
    await until(() => made.findings().length === 1 && looks > 12);
    expect(lines).to.have.length(1);
    stays = false;
    await until(() => made.findings().length === 0);
  });
});
