import { expect } from 'chai';
import type { HandlerContext, ObservationHandler } from 'mortise/contracts/conversation';
import {
  type CallContext,
  type HeldCall,
  MortiseError,
  type Observation,
  type ObservationInput,
  type Points,
} from 'mortise/sdk';
import { silentLog } from 'mortise/sdk/testing';
import type { AlertCode } from '../alerts.js';
import { Conversation, type ConversationDeps } from '../conversation.js';
import { Cooldowns } from '../cooldowns.js';
import type { Unhandled } from '../drain.js';
import { type EgressAdapter, EgressHub } from '../egress/egress-hub.js';

type Handle = (observation: Observation, ctx: HandlerContext) => Promise<unknown>;

interface TestConversation {
  readonly conversation: Conversation;
  readonly cooldowns: Cooldowns;
  readonly alerts: { readonly code: AlertCode; readonly session: string | undefined }[];
  readonly unhandled: readonly Unhandled[];
  /** Runs what the bus has scheduled; only with `held`. */
  dispatch(): void;
}

export interface TestOptions {
  readonly handle?: Handle;
  readonly gate?: ConversationDeps['gate'];
  readonly limits?: Partial<ConversationDeps['limits']>;
  /** The bus routes only when the test calls `dispatch`. */
  readonly held?: boolean;
  readonly now?: () => number;
  readonly monotonic?: () => number;
  readonly loopAllowed?: readonly string[];
  readonly adapters?: readonly EgressAdapter[];
  /** Replaces the egress hub. */
  readonly enqueue?: (observation: Observation) => void;
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

/** A conversation with one handler of messages, on a host without leases. */
export function testConversation(options: TestOptions = {}): TestConversation {
  const alerts: TestConversation['alerts'] = [];
  const unhandled: Unhandled[] = [];
  const scheduled: (() => void)[] = [];
  const cooldowns = new Cooldowns(options.monotonic ?? (() => performance.now()));
  const conversation = new Conversation({
    points: pointsOf({ types: ['message'], handle: options.handle ?? (async () => 'done') }),
    handlers: (type) => (type === 'message' ? [{ key: 'test', timeoutMs: 0 }] : []),
    gate: options.gate ?? (() => undefined),
    loopAllowed: () => options.loopAllowed ?? [],
    hub: Object.assign(
      testHub(options.adapters ?? [], cooldowns, options.sends ?? (async () => undefined)),
      options.enqueue ? { enqueue: options.enqueue } : {},
    ),
    cooldowns,
    routing: { mode: 'user', sessions, hasChannel: (name) => name === 'console' },
    limits: { busCapacity: 1_000, inboxCapacity: 256, concurrentTurns: 256, ...options.limits },
    now: options.now ?? Date.now,
    monotonic: options.monotonic ?? (() => performance.now()),
    schedule: (run, afterOthers) => {
      if (options.held) scheduled.push(run);
      else if (afterOthers) setImmediate(run);
      else queueMicrotask(run);
    },
    unhandled: (left) => unhandled.push(left),
    raise: (code, session) => alerts.push({ code, session: session?.key }),
    metrics: {
      count: () => undefined,
      flagged: () => undefined,
      busDropped: () => undefined,
      inboxDropped: () => undefined,
      failed: () => undefined,
    },
  });
  const { intake } = conversation;
  const { principal } = contextOf(new AbortController().signal);
  const publish = intake.publish.bind(intake);
  intake.publish = (input, given, inside) => publish(input, { principal, ...given }, inside);
  const publishOrWait = intake.publishOrWait.bind(intake);
  intake.publishOrWait = (input, given) => publishOrWait(input, { principal, ...given });
  const submit = intake.submit.bind(intake);
  intake.submit = (input, given) => submit(input, { principal, ...given });
  const dispatch = (): void => {
    for (const run of scheduled.splice(0)) run();
  };
  return { conversation, cooldowns, alerts, unhandled, dispatch };
}

function testHub(adapters: readonly EgressAdapter[], cooldowns: Cooldowns, send: NonNullable<TestOptions['sends']>) {
  return new EgressHub({
    capacity: 256,
    adapters: () => adapters,
    channels: () => [],
    channelOf: () => undefined,
    coolingDown: (adapter) => cooldowns.left(adapter) > 0,
    send,
    failed: () => undefined,
    full: () => undefined,
    undelivered: () => undefined,
    count: () => undefined,
  });
}

/** The kernel's held calls, without its bookkeeping. */
function pointsOf(handler: ObservationHandler): Points {
  const hold = (): HeldCall<ObservationHandler> => {
    const controller = new AbortController();
    let begun = false;
    return {
      run(use, ended) {
        begun = true;
        if (controller.signal.aborted) {
          ended({ ok: false, error: controller.signal.reason });
          return;
        }
        new Promise((resolve) => resolve(use(handler, contextOf(controller.signal)))).then(
          (value) => ended({ ok: true, value }),
          (error: unknown) => ended({ ok: false, error }),
        );
      },
      abort: (cause) => controller.abort(new MortiseError('call_aborted', 'The caller has left.', { cause })),
      release: () => expect(begun).to.equal(false),
    };
  };
  return { hold } as unknown as Points;
}

function contextOf(signal: AbortSignal): CallContext {
  return {
    signal,
    log: silentLog,
    principal: { id: 'local', admin: true, loopback: true, authenticated: false },
    requestId: 'req-1',
    correlationId: 'corr-0000000000000000',
    trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), sampled: false },
  };
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
