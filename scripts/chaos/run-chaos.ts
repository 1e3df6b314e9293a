import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FakeDialect } from 'mortise/contracts/memory-backend-openmemory/testing';
import { check } from './checker/check.js';
import type { Evidence, Violation } from './checker/evidence.js';
import { readJournal, readLocalBackend } from './checker/read-backend.js';
import { readDatabase } from './checker/read-database.js';
import { type Figures, figuresOf } from './figures.js';
import { clientRecordOf, unexpectedRefusals } from './load/acknowledgement.js';
import type { ChaosRun } from './options.js';
import { randomStream } from './plan/random-stream.js';
import { type Played, play, type Scene } from './play.js';
import { settle } from './settle.js';
import { startBackend } from './stage/backend.js';
import { openStage } from './stage/open-stage.js';
import { createChildren } from './stage/process-lives.js';
import { productSettings, setPolicy } from './stage/product-settings.js';

/** The result of a run. */
export interface ChaosResult extends Omit<ChaosRun, 'onKill'>, Pick<Played, 'killed' | 'faults' | 'checks'> {
  readonly ok: boolean;
  /** Dialect of the OpenMemory server; null without one. */
  readonly dialect: FakeDialect | null;
  readonly processes: number;
  readonly figures: Figures;
  readonly seconds: { readonly killing: number; readonly settling: number; readonly checking: number };
  readonly violations: readonly Violation[];
  /** After a violation: the folder with journal, logs and, with SQLite, the database. */
  readonly folder: string | null;
}

function seconds(from: number, to: number): number {
  return Math.round((to - from) / 100) / 10;
}

async function playAndCheck(scene: Scene, journalFile: string) {
  await setPolicy({ settings: scene.settings, folder: scene.folderOf(0), children: scene.children });
  const began = performance.now();
  const { servers, acknowledgements, violations, ...played } = await play(scene);
  const killedAt = performance.now();
  const database = await scene.stage.read();
  try {
    const { backend } = scene.run;
    const settled = await settle({ servers, settings: scene.settings, database, backend });
    const settledAt = performance.now();
    const clientRecords = acknowledgements.map(clientRecordOf);
    const journal = backend === 'local' ? await readLocalBackend(database) : await readJournal(journalFile);
    const evidence: Evidence = { ...(await readDatabase(database)), journal, clientRecords };
    const checked = [...violations, ...settled, ...unexpectedRefusals(acknowledgements), ...check(evidence)];
    const times = {
      killing: seconds(began, killedAt),
      settling: seconds(killedAt, settledAt),
      checking: seconds(settledAt, performance.now()),
    };
    return { ...played, violations: checked, figures: figuresOf(acknowledgements, evidence), seconds: times };
  } finally {
    await database.close();
  }
}

/** Kills the product as planned under load, lets it settle, and runs the checker. */
export async function runChaos(run: ChaosRun): Promise<ChaosResult> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-chaos-'));
  const folderOf = (slot: number) => join(folder, `process-${slot}`);
  const journalFile = join(folder, 'backend.jsonl');
  const stage = await openStage(run.database, folderOf);
  for (let slot = 0; slot < stage.slots; slot += 1) await mkdir(folderOf(slot));
  const dialects = randomStream(run.seed, `dialect on ${run.database}`);
  const dialect = run.backend === 'local' ? null : dialects.pick(['search', 'query'] as const);
  const backend = dialect === null ? null : await startBackend(dialect, journalFile);
  const children = createChildren();
  try {
    const settings = productSettings({ backend: backend?.origin ?? null, database: stage.env });
    const checked = await playAndCheck({ run, stage, backend, settings, children, folderOf }, journalFile);
    const ok = checked.violations.length === 0;
    if (ok) await rm(folder, { recursive: true, force: true });
    const { onKill: _, ...plan } = run;
    const processes = stage.slots;
    return { ...plan, ok, dialect, processes, ...checked, folder: ok ? null : folder };
  } finally {
    children.end();
    await backend?.stop();
    await stage.drop();
  }
}
