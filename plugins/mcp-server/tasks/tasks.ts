import { randomBytes } from 'node:crypto';
import type { Database } from 'mortise/sdk';
import { checkedAnswer } from '../client-answers.js';
import { failureOf } from '../failure-of.js';
import type { MethodCall } from '../method.js';
import type { McpServer } from '../server.js';
import type { ListedTool } from '../tools/listing.js';
import { errorObject, RpcFailure } from '../wire/failure.js';
import { isObject, type JsonObject, member } from '../wire/json.js';
import * as rows from './rows.js';
import { type RunningTask, runTask } from './run-task.js';
import { isOver, type Task, taskTtlMs, taskView } from './task.js';

/** Tool calls that go on after their request was answered. Their rows outlive the process. */
export interface Tasks {
  /** Begins a task; its row is there before the client is told of it. */
  start(call: MethodCall, tool: ListedTool, args: JsonObject): Promise<JsonObject>;
  /** @throws RpcFailure for an id that is unknown, expired, or another principal's. */
  get(id: string, principal: string): Promise<JsonObject>;
  /** Takes answers to open questions; others are ignored. */
  answer(id: string, principal: string, responses: JsonObject): Promise<void>;
  /** Asks a running task to stop; one that is over stays as it is. */
  cancel(id: string, principal: string): Promise<void>;
  /** Another process changed a task: what runs here obeys, who listens here hears of it. */
  follow(id: string): Promise<void>;
  /** Looks at the rows for answers and cancellations of which no hint arrived. */
  poll(): Promise<void>;
  /** Ends tasks of processes that are gone, and removes what has expired. */
  sweep(): Promise<void>;
  /** Ends what runs here. */
  close(): Promise<void>;
}

const lost = 'The server stopped while the task ran.';

export function createTasks(of: () => McpServer): Tasks {
  const running = new Map<string, RunningTask>();
  const clock = () => of().host.use('schedule').now();
  const instances = () => of().host.use('instances');

  const withRows = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    const { storage } = of();
    try {
      return await work(await storage.database());
    } catch (error) {
      throw storage.explain(error);
    }
  };
  const changed = async (id: string): Promise<void> => {
    await announce(id);
    await of().replicas.tell({ kind: 'task', id });
  };
  const announce = async (id: string): Promise<void> => {
    const { subscriptions } = of();
    const listens = (taskIds: readonly string[] | undefined) => taskIds?.includes(id) === true;
    if (!subscriptions.has(({ filter }) => listens(filter.taskIds))) return;
    const task = await withRows((database) => rows.findTask(database, id));
    if (!task) return;
    subscriptions.announce(
      'notifications/tasks',
      taskView(task),
      ({ filter, principal }) => principal === task.principal && listens(filter.taskIds),
    );
  };
  const endLost = async (task: Task): Promise<void> => {
    const error = errorObject(new RpcFailure('INTERNAL_ERROR', lost), 'stateless', '');
    const end = { status: 'failed', message: lost, error: JSON.stringify(error) } as const;
    if (await withRows((database) => rows.endTask(database, task.id, end, clock()))) await changed(task.id);
  };
  const find = async (id: string, principal: string): Promise<Task> => {
    let task = await withRows((database) => rows.findTask(database, id));
    if (task && !isOver(task) && !running.has(id) && !(await instances().isAlive(task.owner))) {
      await endLost(task);
      task = await withRows((database) => rows.findTask(database, id));
    }
    if (!task || task.principal !== principal || task.expiresAt <= clock()) {
      throw new RpcFailure('INVALID_PARAM_VALUE', 'There is no such task.', { details: { path: '/taskId' } });
    }
    return task;
  };
  /** Brings a task that runs here in line with its row. */
  const obey = async (id: string): Promise<void> => {
    const here = running.get(id);
    if (!here) return;
    const task = await withRows((database) => rows.findTask(database, id));
    if (!task || task.cancelRequested) here.cancel();
    for (const [key, answer] of Object.entries(task?.inputResponses ?? {})) {
      if (isObject(answer)) here.answer(key, answer);
    }
  };

  return {
    async start(call, tool, args) {
      const now = clock();
      const task: Task = {
        id: `task_${randomBytes(16).toString('hex')}`,
        principal: call.caller.principal.id,
        tool: tool.name,
        status: 'working',
        statusMessage: undefined,
        result: undefined,
        error: undefined,
        inputRequests: {},
        inputResponses: {},
        cancelRequested: false,
        owner: instances().id,
        createdAt: now,
        updatedAt: now,
        expiresAt: now + taskTtlMs,
      };
      await withRows((database) => rows.insertTask(database, task, call.caller.correlationId));
      const run = runTask(call, tool, args, async (key, request) => {
        await withRows((database) =>
          rows.changeInput(
            database,
            task.id,
            ({ inputRequests, inputResponses }) => ({
              requests: { ...inputRequests, [key]: request },
              responses: inputResponses,
            }),
            clock(),
          ),
        );
        await changed(task.id);
      });
      running.set(task.id, run);
      void run.end
        .then((end) => withRows((database) => rows.endTask(database, task.id, end, clock())))
        .then(() => changed(task.id))
        .catch((error: unknown) => failureOf(error, of().host.log, call.caller.correlationId))
        .finally(() => running.delete(task.id));
      return taskView(task, true);
    },
    get: async (id, principal) => taskView(await find(id, principal)),
    async answer(id, principal, responses) {
      const { inputRequests } = await find(id, principal);
      for (const [key, request] of Object.entries(inputRequests)) {
        const response = member(responses, key);
        if (response !== undefined && isObject(request)) await checkedAnswer(request, response);
      }
      const task = await withRows((database) =>
        rows.changeInput(database, id, (now) => accept(now, responses), clock()),
      );
      if (!task) return;
      await obey(id);
      await changed(id);
    },
    async cancel(id, principal) {
      const task = await find(id, principal);
      if (isOver(task)) return;
      await withRows((database) => rows.requestCancel(database, id, clock()));
      await obey(id);
      await of().replicas.tell({ kind: 'task', id });
    },
    async follow(id) {
      try {
        await obey(id);
        await announce(id);
      } catch (error) {
        of().host.log.warn({ err: error }, 'A task that another replica changed could not be read.');
      }
    },
    async poll() {
      for (const id of running.keys()) await obey(id);
    },
    async sweep() {
      await withRows((database) => rows.deleteExpiredTasks(database, clock()));
      for (const task of await withRows(rows.findOpenTasks)) {
        if (!running.has(task.id) && !(await instances().isAlive(task.owner))) await endLost(task);
      }
    },
    async close() {
      const ends = [...running.values()].map((run) => run.stop(lost));
      await Promise.allSettled(ends);
    },
  };
}

/** Moves answered questions out of the open ones; answers to anything else are dropped. */
function accept(task: Task, responses: JsonObject) {
  const requests: Record<string, unknown> = { ...task.inputRequests };
  const answers: Record<string, unknown> = { ...task.inputResponses };
  for (const key of Object.keys(task.inputRequests)) {
    const response = member(responses, key);
    if (response === undefined) continue;
    delete requests[key];
    answers[key] = response;
  }
  return { requests, responses: answers };
}
