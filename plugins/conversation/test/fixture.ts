import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CallContext,
  type HandlerContext,
  MortiseError,
  type Observation,
  type ObservationHandler,
  type ObservationInput,
  type Points,
} from 'mortise/sdk';
import { silentLog } from 'mortise/sdk/testing';
import { type AlertCode, Conversation, type ConversationPorts } from '../conversation.js';
import { Cooldowns } from '../cooldowns.js';
import { type EgressAdapter, EgressHub } from '../egress/egress-hub.js';

export type Handle = (observation: Observation, ctx: HandlerContext) => Promise<unknown>;

export interface TestConversation {
  readonly conversation: Conversation;
  readonly alerts: { readonly code: AlertCode; readonly session: string | undefined }[];
  /** Runs what the bus has scheduled; only with `held`. */
  dispatch(): void;
}

export interface TestOptions {
  readonly handle?: Handle;
  readonly gate?: ConversationPorts['gate'];
  readonly limits?: Partial<ConversationPorts['limits']>;
  /** The bus moves only when the test says so. */
  readonly held?: boolean;
  readonly now?: () => number;
  readonly monotonic?: () => number;
  readonly loopAllowed?: readonly string[];
  readonly adapters?: readonly EgressAdapter[];
  readonly sends?: (adapter: string, observation: Observation) => Promise<void>;
}

const sessions = {
  key: ({ channel, userId, sessionId }: { channel: string; userId: string; sessionId: string }) =>
    `${channel}:${userId}:${sessionId}`,
  parseKey: (key: string) => {
    const [channel, userId, ...rest] = key.split(':');
    return channel && userId && rest.length > 0 ? { channel, userId, sessionId: rest.join(':') } : undefined;
  },
};

/** A conversation with one handler of messages, and the calls of a host that leases nothing. */
export function testConversation(options: TestOptions = {}): TestConversation {
  const alerts: TestConversation['alerts'] = [];
  const scheduled: (() => void)[] = [];
  const cooldowns = new Cooldowns(options.monotonic ?? (() => performance.now()));
  const conversation = new Conversation({
    points: pointsOf({ types: ['message'], handle: options.handle ?? (async () => 'done') }),
    handlers: (type) => (type === 'message' ? ['test'] : []),
    gate: options.gate ?? (() => undefined),
    loopAllowed: () => options.loopAllowed ?? [],
    hub: testHub(options.adapters ?? [], cooldowns, options.sends ?? (async () => undefined)),
    cooldowns,
    routing: { mode: 'user', sessions, channels: () => ['console'] },
    limits: { busCapacity: 1_000, inboxCapacity: 256, concurrentTurns: 256, ...options.limits },
    now: options.now ?? Date.now,
    monotonic: options.monotonic ?? (() => performance.now()),
    schedule: (run) => {
      if (options.held) scheduled.push(run);
      else queueMicrotask(run);
    },
    raise: (code, session) => alerts.push({ code, session: session?.key }),
    count: () => undefined,
  });
  const dispatch = (): void => {
    for (const run of scheduled.splice(0)) run();
  };
  return { conversation, alerts, dispatch };
}

function testHub(adapters: readonly EgressAdapter[], cooldowns: Cooldowns, send: NonNullable<TestOptions['sends']>) {
  return new EgressHub({
    capacity: 256,
    adapters: () => adapters,
    channelOf: () => undefined,
    coolingDown: (adapter) => cooldowns.left(adapter) > 0,
    send,
    failed: () => undefined,
    full: () => undefined,
    undelivered: () => undefined,
  });
}

/** What the kernel does for a call, without the book-keeping: a signal that follows the caller's, and no waiting past it. */
function pointsOf(handler: ObservationHandler): Points {
  const call = async (
    _point: string,
    _key: string,
    run: (value: ObservationHandler, ctx: CallContext) => unknown,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<unknown> => {
    const controller = new AbortController();
    const aborted = new Promise<never>((_, reject) => {
      const relay = (): void => {
        const error = new MortiseError('call_aborted', 'The caller is gone.', { cause: options.signal?.reason });
        controller.abort(error);
        reject(error);
      };
      if (options.signal?.aborted) relay();
      options.signal?.addEventListener('abort', relay, { once: true });
    });
    aborted.catch(() => undefined);
    const ctx: CallContext = {
      signal: controller.signal,
      log: silentLog,
      principal: { id: 'local', admin: true, loopback: true, authenticated: false },
      requestId: 'req-1',
      correlationId: 'corr-0000000000000000',
      trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), sampled: false },
    };
    return Promise.race([run(handler, ctx), aborted]);
  };
  return { call } as unknown as Points;
}

export function message(text: string, session = 's1'): ObservationInput {
  return {
    source_name: 'test:face',
    ingress: 'api',
    session_key: `console:u1:${session}`,
    actor: { actor_type: 'user', actor_id: 'u1' },
    payload: { text },
  };
}

export const patient = { limit: 16, timeoutMs: 5_000 };

export async function until(what: string, holds: () => boolean, ms = 5_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`waited too long for: ${what}`);
    await sleep(5);
  }
}
