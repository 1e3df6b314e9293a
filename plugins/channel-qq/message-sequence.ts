import { createHash } from 'node:crypto';
import type { Database } from 'mortise/sdk';
import type { QqTarget } from './qq-config.js';

/** The counters behind `msg_seq`, by which QQ recognises a repeated message. */
export class MessageSequence {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The first of `count` numbers: they increase per answered message, else per target. A repeated delivery gets the
   * same numbers, so that QQ refuses messages that have already arrived.
   */
  async reserve(
    target: QqTarget,
    { appId, deliveryId, count }: { readonly appId: string; readonly deliveryId: string; readonly count: number },
  ): Promise<number> {
    const { type, id, messageId } = target;
    const scope = digest([appId, type, id, messageId]);
    const delivery = digest([scope, deliveryId]);
    return this.#database.transaction(async (trx) => {
      const taken = await this.#add(scope, count, trx);
      const known = await this.#database
        .query({ trx })(this.#database.table('agent.qq_seq'))
        .where({ scope: delivery })
        .first('next_seq');
      if (known) return this.#database.codec.parseInteger(known.next_seq);
      await this.#database
        .query({ trx })(this.#database.table('agent.qq_seq'))
        .insert({ scope: delivery, next_seq: taken });
      return taken;
    });
  }

  /** Removes counters that have not been used since `before`. */
  async forget(before: Date): Promise<void> {
    const { codec } = this.#database;
    await this.#database
      .query()(this.#database.table('agent.qq_seq'))
      .where('updated_at', '<', codec.time(before))
      .delete();
  }

  /** Adding first locks the counter, so that two sends of one delivery run one after the other. */
  async #add(scope: string, count: number, trx: Parameters<Database['afterCommit']>[0]): Promise<number> {
    const { rows } = await this.#database.statement<{ next_seq: number }>(
      `insert into {agent.qq_seq} as counter (scope, next_seq) values (?, ?)
       on conflict (scope) do update set next_seq = counter.next_seq + ?, updated_at = ${this.#database.now.time}
       returning next_seq`,
      [scope, 1 + count, count],
      { trx },
    );
    return this.#database.codec.parseInteger(rows[0]?.next_seq) - count;
  }
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
