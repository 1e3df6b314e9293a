import { type FakeModel, says } from 'mortise/contracts/agent/testing';
import { createTestHost, type TestEngine, type TestHost, type TestHostOptions } from 'mortise/sdk/testing';
import type { CronRun, CronSlot } from '../contract/index.js';

export interface CronHost {
  readonly host: TestHost;
  /** Status and body of a request. */
  call(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: never }>;
  /** Saves a text job for session s1 of user u1. */
  save(id: string, cron: string, more?: object): Promise<void>;
  slots(id: string): Promise<readonly CronSlot[]>;
  runs(id: string): Promise<readonly CronRun[]>;
}

export const textJob = (id: string, cron: string, more: object = {}): object => ({
  id,
  name: id,
  enabled: true,
  schedule: { type: 'interval', cron },
  text: 'hi',
  dispatch: { target: { user_id: 'u1', session_id: 's1' } },
  ...more,
});

const plugins = ['cron', 'cron-nodes', 'agent', 'channel-console'];

export async function openCron(
  engine: TestEngine,
  { model, ...options }: TestHostOptions & { readonly model?: FakeModel } = {},
): Promise<CronHost> {
  const host = await createTestHost({
    database: engine.env,
    ...options,
    plugins: [...plugins, ...(model ? [] : ['provider-demo']), ...(options.plugins ?? [])],
    extra: [...(model ? [model.plugin] : []), ...(options.extra ?? [])],
  });
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await host.fetch(`/cron${path}`, {
      method,
      ...(body === undefined
        ? {}
        : {
            headers: { 'content-type': 'application/json' },
            body: typeof body === 'string' ? body : JSON.stringify(body),
          }),
    });
    return { status: response.status, body: (await response.json()) as never };
  };
  return {
    host,
    call,
    async save(id, cron, more = {}) {
      const { status, body } = await call('POST', '/jobs', textJob(id, cron, more));
      if (status !== 200) throw new Error(JSON.stringify(body));
    },
    slots: async (id) => (await call('GET', `/jobs/${id}/slots`)).body,
    runs: async (id) => (await call('GET', `/jobs/${id}/runs`)).body,
  };
}

export { says };
