import { randomBytes } from 'node:crypto';
import { type InstancesService, isJsonObject, type JsonObject, type Logger, retryCommit } from 'mortise/sdk';
import { checkedAnswer } from '../client-answers.js';
import type { Replicas } from '../replicas.js';
import type { Storage } from '../storage.js';
import type { Subscriptions } from '../subscriptions.js';
import { errorObject, RpcFailure } from '../wire/failure.js';
import { member } from '../wire/params.js';
import * as rows from './task.js';
import { hasEnded, type Task, type TaskEnd, taskTtlMs, taskView } from './task.js';

/** Tool calls that continue after their request was answered. Their rows outlive the process. */
export interface Tasks {
  /** Starts a task after its row is committed, and returns it as clients see it. */
  start(task: NewTask): Promise<JsonObject>;
  /** @throws RpcFailure for an id that is unknown, expired, or of another principal. */
  get(id: string, principal: string): Promise<JsonObject>;
  /** Accepts answers to open questions; others are ignored. */
  answer(id: string, principal: string, responses: JsonObject): Promise<void>;
  /** Cancels a task; one that has ended does not change. */
  cancel(id: string, principal: string): Promise<void>;
  /** Another process changed a task: applies the change to the task running here and notifies subscribers. */
  follow(id: string): Promise<void>;
  /** Reads answers and cancellations whose signal was lost. */
  poll(): Promise<void>;
  /** Stores ends that could not be stored, ends tasks whose process no longer exists, and deletes expired ones. */
  sweep(): Promise<void>;
  /** Ends the tasks that run here. */
  close(): Promise<void>;
}

interface NewTask {
  readonly principal: string;
  readonly correlationId: string;
  readonly tool: string;
  /** @param publish stores a question where the client finds it. */
  run(publish: PublishQuestion): RunningTask;
}

export type PublishQuestion = (key: string, request: JsonObject) => Promise<void>;

/** A task of this process. */
export interface RunningTask {
  /** Never rejects. */
  readonly end: Promise<TaskEnd>;
  cancel(): void;
  /** Answers a question of this run; other keys are ignored. */
  answer(key: string, response: JsonObject): void;
  /** Ends the task as failed because the endpoint stops. */
  stop(why: string): Promise<TaskEnd>;
}

interface TasksDeps {
  readonly storage: Storage;
  readonly replicas: Replicas;
  readonly subscriptions: Subscriptions;
  readonly instances: InstancesService;
  readonly log: Logger;
  now(): number;
}

const lost = 'The server stopped while the task ran.';

export function createTasks({ storage, replicas, subscriptions, instances, log, now }: TasksDeps): Tasks {
  const running = new Map<string, RunningTask>();
  /** Ends that could not be stored yet. */
  const unstored = new Map<string, TaskEnd>();
  const { withDatabase } = storage;

  const changed = async (id: string): Promise<void> => {
    await announce(id);
    await replicas.notify({ kind: 'task', id });
  };
  const announce = async (id: string): Promise<void> => {
    const includes = (taskIds: readonly string[] | undefined) => taskIds?.includes(id) === true;
    if (!subscriptions.has(({ filter }) => includes(filter.taskIds))) return;
    const task = await withDatabase((database) => rows.findTask(database, id));
    if (!task) return;
    subscriptions.announce(
      'notifications/tasks',
      taskView(task),
      ({ filter, principal }) => principal === task.principal && includes(filter.taskIds),
    );
  };
  const endLost = async ({ id }: Task): Promise<void> => {
    const error = errorObject(new RpcFailure('INTERNAL_ERROR', lost), 'stateless', '');
    const end = { status: 'failed', message: lost, error: JSON.stringify(error) } as const;
    if (await withDatabase((database) => rows.endTask(database, id, end, now()))) await changed(id);
  };
  const find = async (id: string, principal: string): Promise<Task> => {
    let task = await withDatabase((database) => rows.findTask(database, id));
    if (task && !hasEnded(task) && !running.has(id) && !(await instances.isAlive(task.owner))) {
      await endLost(task);
      task = await withDatabase((database) => rows.findTask(database, id));
    }
    if (!task || task.principal !== principal || task.expiresAt <= now()) {
      throw new RpcFailure('INVALID_PARAM_VALUE', 'There is no such task.', { details: { path: '/taskId' } });
    }
    return task;
  };
  /** Applies a task's row to the run in this process. */
  const applyRow = async (id: string): Promise<void> => {
    const run = running.get(id);
    if (!run) return;
    const task = await withDatabase((database) => rows.findTask(database, id));
    if (!task || task.cancelRequested) run.cancel();
    for (const [key, answer] of Object.entries(task?.inputResponses ?? {})) {
      if (isJsonObject(answer)) run.answer(key, answer);
    }
  };
  const publishQuestion = async (id: string, key: string, request: JsonObject): Promise<void> => {
    await withDatabase((database) =>
      rows.changeInput(
        database,
        id,
        ({ inputRequests, inputResponses }) => ({
          requests: { ...inputRequests, [key]: request },
          responses: inputResponses,
        }),
        now(),
      ),
    );
    await changed(id);
  };
  const storeEnd = async (id: string, end: TaskEnd): Promise<void> => {
    await withDatabase((database) => rows.endTask(database, id, end, now()));
    unstored.delete(id);
    await changed(id);
  };
  const finish = async (id: string, run: RunningTask, correlationId: string): Promise<void> => {
    try {
      const end = await run.end;
      unstored.set(id, end);
      await retryCommit(() => storeEnd(id, end));
    } catch (error) {
      log.error({ err: error, correlation_id: correlationId }, 'The end of a task is not stored yet.');
    } finally {
      running.delete(id);
    }
  };

  return {
    async start({ principal, correlationId, tool, run: begin }) {
      const at = now();
      const task: Task = {
        id: `task_${randomBytes(16).toString('hex')}`,
        principal,
        tool,
        status: 'working',
        statusMessage: undefined,
        result: undefined,
        error: undefined,
        inputRequests: {},
        inputResponses: {},
        cancelRequested: false,
        owner: instances.id,
        createdAt: at,
        updatedAt: at,
        expiresAt: at + taskTtlMs,
      };
      await withDatabase((database) => rows.insertTask(database, task, correlationId));
      const run = begin((key, request) => publishQuestion(task.id, key, request));
      running.set(task.id, run);
      void finish(task.id, run, correlationId);
      return taskView(task, true);
    },
    get: async (id, principal) => taskView(await find(id, principal)),
    async answer(id, principal, responses) {
      const { inputRequests } = await find(id, principal);
      for (const [key, request] of Object.entries(inputRequests)) {
        const response = member(responses, key);
        if (response !== undefined && isJsonObject(request)) await checkedAnswer(request, response);
      }
      const task = await withDatabase((database) =>
        rows.changeInput(database, id, (current) => accept(current, responses), now()),
      );
      if (!task) return;
      await applyRow(id);
      await changed(id);
    },
    async cancel(id, principal) {
      const task = await find(id, principal);
      if (hasEnded(task)) return;
      await withDatabase((database) => rows.requestCancel(database, id, now()));
      await applyRow(id);
      await replicas.notify({ kind: 'task', id });
    },
    async follow(id) {
      try {
        await applyRow(id);
        await announce(id);
      } catch (error) {
        log.warn({ err: error }, 'A task that another replica changed could not be read.');
      }
    },
    async poll() {
      for (const id of running.keys()) await applyRow(id);
    },
    async sweep() {
      for (const [id, end] of unstored) if (!running.has(id)) await storeEnd(id, end);
      await withDatabase((database) => rows.deleteExpiredTasks(database, now()));
      for (const task of await withDatabase(rows.findOpenTasks)) {
        if (!running.has(task.id) && !(await instances.isAlive(task.owner))) await endLost(task);
      }
    },
    async close() {
      const ends = [...running.values()].map((run) => run.stop(lost));
      await Promise.allSettled(ends);
    },
  };
}

/** Moves answered questions from the open ones to the answers; responses without an open question are dropped. */
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
