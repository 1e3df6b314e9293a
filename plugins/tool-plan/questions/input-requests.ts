import type { Database, ToolContext } from 'mortise/sdk';
import { planError } from '../errors.js';

export interface Question {
  readonly id: string;
  readonly header: string;
  readonly question: string;
  readonly options?: readonly { readonly label: string; readonly description?: string }[];
}

export type Answers = Readonly<Record<string, { readonly answers: readonly string[] }>>;

type CallerSession = NonNullable<ToolContext['session']>;

/** The parts of a session that an answer or a list may name. */
export interface SessionFilter {
  readonly sessionId?: string | undefined;
  readonly userId?: string | undefined;
  readonly channel?: string | undefined;
}

interface PendingRequest {
  readonly requestId: string;
  readonly sessionId: string;
  readonly userId: string;
  readonly channel: string;
  readonly questions: readonly Question[];
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

interface Row {
  readonly request_id: string;
  readonly session_id: string;
  readonly user_id: string;
  readonly channel: string;
  readonly questions: unknown;
  readonly state: string;
  readonly answers: unknown;
  readonly created_at: unknown;
  readonly expires_at: unknown;
}

const table = 'agent.input_requests';
/** Notifies the waiting replica. */
const channel = 'input-answered';

/** The rows of questions; only this class changes their state: pending, then answered or expired. */
export class InputRequests {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Stores a question.
   * @throws tool_conflict when the id is pending
   */
  async open(requestId: string, session: CallerSession, questions: readonly Question[], ms: number): Promise<void> {
    const { codec } = this.#database;
    await this.#database
      .transaction(async (trx) => {
        const now = await this.#now(trx);
        const rows = trx(this.#database.table(table));
        // An id may be used again when its question is no longer open; no other row with it can be pending.
        await rows
          .clone()
          .where({ request_id: requestId })
          .andWhere((where) => where.whereNot({ state: 'pending' }).orWhere('expires_at', '<=', now))
          .delete();
        await rows.clone().insert({
          request_id: requestId,
          turn_id: session.turnId,
          session_key: session.key,
          session_id: session.sessionId,
          user_id: session.userId,
          channel: session.channel,
          questions: codec.json(questions),
          state: 'pending',
          created_at: now,
          updated_at: now,
          expires_at: now + ms,
        });
      })
      .catch((error: unknown) => {
        throw codec.errorKind(error) === 'unique' ? planError('tool_conflict') : error;
      });
  }

  /** The answers, once somebody gave them. */
  async answersOf(requestId: string): Promise<Answers | undefined> {
    const row = await this.#rows().where({ request_id: requestId, state: 'answered' }).first('answers');
    return row && this.#database.codec.parseJson<Answers>(row.answers);
  }

  /** Ends an unanswered question. @returns false when it was answered meanwhile */
  async expire(requestId: string): Promise<boolean> {
    const changed = await this.#rows().where({ request_id: requestId, state: 'pending' }).update({ state: 'expired' });
    return changed > 0;
  }

  /**
   * Stores the answers and notifies the waiting replica.
   *
   * @param bound the only user that the caller may answer for
   * @throws request_user_input_not_found, request_user_input_mismatch, invalid_request for an unknown question
   */
  async answer(requestId: string, filter: SessionFilter, bound: string | undefined, answers: Answers): Promise<void> {
    await this.#database.transaction(async (trx) => {
      const now = await this.#now(trx);
      const rows = trx(this.#database.table(table));
      const pending = { request_id: requestId, state: 'pending' };
      const row: Row | undefined = await rows.clone().where(pending).andWhere('expires_at', '>', now).first();
      if (!row || (bound !== undefined && row.user_id !== bound)) throw planError('request_user_input_not_found');
      if (!fits(row, filter)) throw planError('request_user_input_mismatch');
      refuseUnknown(answers, this.#database.codec.parseJson<readonly Question[]>(row.questions));
      const given = { state: 'answered', answers: this.#database.codec.json(answers), updated_at: now };
      // Of two answers at once, one changes the row.
      if ((await rows.clone().where(pending).update(given)) === 0) throw planError('request_user_input_not_found');
      await this.#database.notify(channel, requestId, { trx });
    });
  }

  /** Open questions, oldest first. */
  async pending(filter: SessionFilter): Promise<readonly PendingRequest[]> {
    const { codec } = this.#database;
    const { sessionId, userId, channel: name } = filter;
    const where = {
      state: 'pending',
      ...(sessionId === undefined ? {} : { session_id: sessionId }),
      ...(userId === undefined ? {} : { user_id: userId }),
      ...(name === undefined ? {} : { channel: name }),
    };
    const now = await this.#now(this.#database.query());
    const rows: Row[] = await this.#rows()
      .where(where)
      .andWhere('expires_at', '>', now)
      .orderBy(['created_at', 'request_id'])
      .limit(1_000);
    return rows.map((row) => ({
      requestId: row.request_id,
      sessionId: row.session_id,
      userId: row.user_id,
      channel: row.channel,
      questions: codec.parseJson<readonly Question[]>(row.questions),
      createdAt: codec.parseInteger(row.created_at),
      expiresAt: codec.parseInteger(row.expires_at),
    }));
  }

  /** Calls back when a question was answered, or might have been. */
  async watch(changed: (requestId: string | undefined) => void) {
    return this.#database.listen(channel, changed, { missed: () => changed(undefined) });
  }

  #rows() {
    return this.#database.query()(this.#database.table(table));
  }

  /** Epoch milliseconds of the database's clock, which all replicas share. */
  async #now(knex: ReturnType<Database['query']>): Promise<number> {
    const [row] = await knex.select(knex.raw(`${this.#database.now.millis} as now`));
    return this.#database.codec.parseInteger((row as { now: unknown }).now);
  }
}

/** A misspelled id would end the question without its answer. */
function refuseUnknown(answers: Answers, questions: readonly Question[]): void {
  const known = questions.map(({ id }) => id);
  const unknown = Object.keys(answers).filter((id) => !known.includes(id));
  if (unknown.length === 0) return;
  const named = unknown.slice(0, 10).map((id) => JSON.stringify(id.slice(0, 64)));
  throw planError('invalid_request', `answers names unknown questions: ${named.join(', ')}`, { question_ids: known });
}

function fits(row: Row, { sessionId, userId, channel: name }: SessionFilter): boolean {
  if (sessionId !== undefined && sessionId !== row.session_id) return false;
  if (userId !== undefined && userId !== row.user_id) return false;
  return name === undefined || name.toLowerCase() === row.channel;
}
