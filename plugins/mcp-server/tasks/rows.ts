import type { Database, SqlValue, Transaction } from 'mortise/sdk';
import { isObject, type JsonObject } from '../wire/json.js';
import type { Task, TaskStatus } from './task.js';

interface TaskRow {
  readonly id: string;
  readonly principal: string;
  readonly tool: string;
  readonly status: TaskStatus;
  readonly status_message: string | null;
  readonly result_text: string | null;
  readonly error_text: string | null;
  readonly input_requests: string;
  readonly input_responses: string;
  readonly cancel_requested: unknown;
  readonly owner: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly expires_at: number;
}

function taskOf({ codec }: Database, row: TaskRow): Task {
  const json = (text: string | null): JsonObject | undefined => {
    const value = text === null ? undefined : codec.parseJson(text);
    return isObject(value) ? value : undefined;
  };
  return {
    id: row.id,
    principal: row.principal,
    tool: row.tool,
    status: row.status,
    statusMessage: row.status_message ?? undefined,
    result: json(row.result_text),
    error: json(row.error_text),
    inputRequests: json(row.input_requests) ?? {},
    inputResponses: json(row.input_responses) ?? {},
    cancelRequested: codec.parseFlag(row.cancel_requested),
    owner: row.owner,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    expiresAt: Number(row.expires_at),
  };
}

export async function insertTask(database: Database, task: Task, correlationId: string): Promise<void> {
  await database.statement(
    `insert into {logbook.mcp_tasks}
       (id, principal, tool, status, owner, correlation_id, created_at, updated_at, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      task.id,
      task.principal,
      task.tool,
      task.status,
      task.owner,
      correlationId,
      task.createdAt,
      task.updatedAt,
      task.expiresAt,
    ],
  );
}

export async function findTask(database: Database, id: string, trx?: Transaction): Promise<Task | undefined> {
  const { rows } = await database.statement<TaskRow>('select * from {logbook.mcp_tasks} where id = ?', [id], { trx });
  return rows[0] && taskOf(database, rows[0]);
}

export async function findOpenTasks(database: Database): Promise<readonly Task[]> {
  const { rows } = await database.statement<TaskRow>(
    `select * from {logbook.mcp_tasks} where status in ('working', 'input_required')`,
  );
  return rows.map((row) => taskOf(database, row));
}

/** Ends a task that is not over yet; false when it was. The first end counts. */
export async function endTask(
  database: Database,
  id: string,
  end: {
    readonly status: 'completed' | 'failed' | 'cancelled';
    readonly message?: string | undefined;
    readonly result?: string;
    readonly error?: string;
  },
  now: number,
): Promise<boolean> {
  const bindings: readonly SqlValue[] = [
    end.status,
    end.message ?? null,
    end.result ?? null,
    end.error ?? null,
    now,
    id,
  ];
  const { changes } = await database.statement(
    `update {logbook.mcp_tasks}
        set status = ?, status_message = ?, result_text = ?, error_text = ?, input_requests = '{}', updated_at = ?
      where id = ? and status in ('working', 'input_required')`,
    bindings,
  );
  return changes > 0;
}

export async function requestCancel(database: Database, id: string, now: number): Promise<void> {
  await database.statement('update {logbook.mcp_tasks} set cancel_requested = ?, updated_at = ? where id = ?', [
    true,
    now,
    id,
  ]);
}

/**
 * Changes the questions and answers of an open task in one transaction; the status says whether a question is left.
 * Undefined when the task is unknown or over.
 */
export function changeInput(
  database: Database,
  id: string,
  change: (task: Task) => { readonly requests: JsonObject; readonly responses: JsonObject },
  now: number,
): Promise<Task | undefined> {
  return database.transaction(async (trx) => {
    const lock = database.dialect === 'postgres' ? ' for update' : '';
    const { rows } = await database.statement<TaskRow>(
      `select * from {logbook.mcp_tasks} where id = ? and status in ('working', 'input_required')${lock}`,
      [id],
      { trx },
    );
    if (!rows[0]) return undefined;
    const task = taskOf(database, rows[0]);
    const { requests, responses } = change(task);
    const status: TaskStatus = Object.keys(requests).length > 0 ? 'input_required' : 'working';
    await database.statement(
      `update {logbook.mcp_tasks}
          set status = ?, input_requests = ?, input_responses = ?, updated_at = ? where id = ?`,
      [status, database.codec.json(requests), database.codec.json(responses), now, id],
      { trx },
    );
    return { ...task, status, inputRequests: requests, inputResponses: responses, updatedAt: now };
  });
}

export async function deleteExpiredTasks(database: Database, now: number): Promise<void> {
  await database.statement('delete from {logbook.mcp_tasks} where expires_at <= ?', [now]);
}
