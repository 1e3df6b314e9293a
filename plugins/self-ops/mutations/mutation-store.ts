import type { Database, SecretsService, Transaction } from 'mortise/sdk';
import { storing } from '../errors.js';
import type { Written } from './documents.js';
import type { DiffSummary, MutationChecks, MutationTarget } from './mutation.js';

/** A previewed change as it is stored. */
export interface Mutation {
  readonly id: string;
  readonly target: MutationTarget;
  /** The resulting documents; empty once they were applied or have expired. */
  readonly documents: readonly Written[];
  readonly checks: MutationChecks;
  readonly summary: readonly DiffSummary[];
  readonly confirmHash: string;
  readonly allowSensitive: boolean;
  readonly state: 'pending' | 'applied';
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

interface MutationRow {
  readonly id: string;
  readonly target: MutationTarget;
  readonly payload_enc: string | null;
  readonly checks_json: unknown;
  readonly summary_json: unknown;
  readonly confirm_hash: string;
  readonly allow_sensitive: unknown;
  readonly state: Mutation['state'];
  readonly expires_at: unknown;
}

/** How long an expired mutation is still known as one. */
const rememberedMs = 7 * 86_400_000;

/** The rows of mutations. */
export class MutationStore {
  readonly #database: Database;
  readonly #secrets: Pick<SecretsService, 'seal' | 'unseal'>;

  constructor(database: Database, secrets: Pick<SecretsService, 'seal' | 'unseal'>) {
    this.#database = database;
    this.#secrets = secrets;
  }

  async insert(mutation: Mutation, principal: string, trx: Transaction): Promise<void> {
    const { codec } = this.#database;
    const { id, target, documents, checks, summary, confirmHash, allowSensitive, state, expiresAt } = mutation;
    await this.#table(trx).insert({
      id,
      target,
      payload_enc: this.#secrets.seal(JSON.stringify(documents), placeOf(id)),
      checks_json: codec.json(checks),
      summary_json: codec.json(summary),
      confirm_hash: confirmHash,
      allow_sensitive: allowSensitive,
      state,
      expires_at: expiresAt,
      principal: principal.slice(0, 128),
    });
  }

  /** Reads a mutation that no other caller can apply before the transaction ends. */
  async lock(id: string, trx: Transaction): Promise<Mutation | undefined> {
    const { codec } = this.#database;
    await this.#table(trx)
      .where({ id })
      .update({ updated_at: codec.time(Date.now()) });
    const row: MutationRow | undefined = await this.#table(trx).where({ id }).first();
    if (!row) return undefined;
    return {
      id: row.id,
      target: row.target,
      documents:
        row.payload_enc === null
          ? []
          : (JSON.parse(this.#secrets.unseal(row.payload_enc, placeOf(id))) as readonly Written[]),
      checks: codec.parseJson(row.checks_json),
      summary: codec.parseJson(row.summary_json),
      confirmHash: row.confirm_hash,
      allowSensitive: codec.parseFlag(row.allow_sensitive),
      state: row.state,
      expiresAt: codec.parseInteger(row.expires_at),
    };
  }

  /** A mutation is applied once; its documents are no longer needed. */
  async markApplied(id: string, auditId: string, trx: Transaction): Promise<void> {
    await this.#table(trx).where({ id }).update({ state: 'applied', audit_id: auditId, payload_enc: null });
  }

  /** Removes the documents of expired mutations, and mutations that expired long ago. */
  async prune(now: number): Promise<void> {
    const table = () => this.#database.query()(this.#database.table('agent.mutations'));
    await storing(async () => {
      await table().where('expires_at', '<', now).whereNotNull('payload_enc').update({ payload_enc: null });
      await table()
        .where('expires_at', '<', now - rememberedMs)
        .delete();
    });
  }

  #table(trx: Transaction) {
    return this.#database.query({ trx })(this.#database.table('agent.mutations'));
  }
}

function placeOf(id: string): string {
  return `mutation ${id}`;
}
