import type { ChannelMessage } from '../../points/channel.js';
import type { CallOptions } from '../../points.js';
import type { TestHost } from '../create-test-host.js';
import {
  abortCheck,
  callLimitMs,
  concurrencyCheck,
  factsCheck,
  failureCheck,
  quietCheck,
  withdrawalCheck,
} from './common-checks.js';
import { type Check, type Contract, describeContract, type Subject } from './contract.js';
import { frozenCopy, hostileTexts } from './hostile.js';
import { errorIssues, outcomeOf } from './outcome.js';

export interface ChannelSubject extends Subject {
  /** A configuration with which sending works. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Configurations with which sending fails. */
  readonly failing?: readonly Readonly<Record<string, unknown>>[];
  /** A configuration that makes sending take a second or longer. */
  readonly slow?: Readonly<Record<string, unknown>>;
  /** Recipient of the test messages, for platforms that accept only certain ones. */
  readonly to?: Pick<ChannelMessage, 'userId' | 'sessionId'>;
}

const textMark = 'zanzibar-7732';

async function send(
  host: TestHost,
  subject: ChannelSubject,
  message: Partial<ChannelMessage> = {},
  options?: CallOptions,
): Promise<unknown> {
  const complete = frozenCopy<ChannelMessage>({
    userId: 'contract-user',
    sessionId: 'contract-session',
    ...subject.to,
    text: `A text that must not be logged: ${textMark}.`,
    config: subject.config ?? {},
    deliveryId: 'contract-1',
    ...message,
  });
  return host.points.call('channel', subject.key, (channel, ctx): Promise<unknown> => channel.sendText(complete, ctx), {
    timeoutMs: callLimitMs,
    ...options,
  });
}

const sends: Check<ChannelSubject> = {
  promise: 'resolves when a text is accepted, also for a repeated delivery',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const deliveryId of ['contract-1', 'contract-1', 'contract-2']) {
      const outcome = await outcomeOf(() => send(host, subject, { deliveryId }));
      if (!outcome.ok) issues.push(...errorIssues(outcome.error), 'a text is not accepted');
      else if (outcome.value !== undefined) issues.push('sendText returns a value');
    }
    return issues;
  },
};

const hostile: Check<ChannelSubject> = {
  promise: 'sends hostile texts or rejects them with a code',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const message of [
      ...hostileTexts.map((text) => ({ text })),
      ...hostileTexts.map((sessionId) => ({ sessionId })),
      { config: {} },
      { config: { unheard_of: [null], enabled: 'perhaps' } },
    ]) {
      const outcome = await outcomeOf(() => send(host, subject, message));
      if (!outcome.ok) issues.push(...errorIssues(outcome.error));
    }
    return [...new Set(issues)];
  },
};

export const channelSuite: Contract<ChannelSubject> = {
  point: 'channel',
  checks: (subject) => {
    const plain = (host: TestHost, own: ChannelSubject, options?: CallOptions) => send(host, own, {}, options);
    return [
      factsCheck('channel'),
      sends,
      concurrencyCheck(plain, false),
      abortCheck('channel', (host, own, options) =>
        send(host, own, subject.slow ? { config: subject.slow } : {}, options),
      ),
      ...(subject.failing?.length
        ? [
            failureCheck<ChannelSubject>('rejects with a code when a text is not accepted', (own) =>
              (own.failing ?? []).map((config) => (host) => send(host, own, { config })),
            ),
          ]
        : []),
      hostile,
      quietCheck(textMark, plain),
      withdrawalCheck('channel', plain),
    ];
  },
};

/**
 * Defines the contract tests of a channel.
 *
 * @example
 * channelContract('the console channel', {
 *   host: () => createTestHost({ plugins: ['channel-console'] }),
 *   key: 'console',
 * });
 */
export function channelContract(name: string, subject: ChannelSubject): void {
  describeContract(`${name} meets the contract of channels`, channelSuite, subject);
}
