import { idempotencyKeyPattern } from 'mortise/contracts/sessions';
import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { agentError } from './errors.js';
import { runtimeToolMembers } from './runtime-tools.js';

const promptModes = ['default', 'codex', 'claude'] as const;
export type PromptMode = (typeof promptModes)[number];

/** The recipient of a reply. A caller must not change other members of a channel's configuration. */
const channelMembers = ['target_type', 'target_id', 'msg_id', 'bot_prefix', 'dm_guild_id'];

/** The members of `biz_params` that concern the turn. */
export interface BusinessParams {
  readonly promptMode: PromptMode | undefined;
  readonly maxSteps: number | undefined;
  readonly requestId: string | undefined;
  readonly debug: boolean;
  /** The members that describe runtime tools. */
  readonly runtimeTools: JsonObject;
  /** Merged into the chat's meta. */
  readonly chatMeta: JsonObject;
  /** Recipient of this reply; overrides the channel's configuration. */
  readonly channelConfig: JsonObject | undefined;
}

export function readBusinessParams(business: JsonObject): BusinessParams {
  const promptMode = readPromptMode(business);
  const { channel } = business;
  return {
    promptMode,
    maxSteps: readMaxSteps(business.max_steps),
    requestId: readRequestId(business.request_id),
    debug: business.debug === true,
    runtimeTools: pick(business, runtimeToolMembers),
    chatMeta: { ...(promptMode ? { prompt_mode: promptMode } : {}), ...cronMeta(business.cron) },
    channelConfig: isJsonObject(channel) ? pick(channel, channelMembers) : undefined,
  };
}

function readPromptMode(business: JsonObject): PromptMode | undefined {
  if (!('prompt_mode' in business)) return undefined;
  const value = business.prompt_mode;
  const mode = promptModes.find((known) => typeof value === 'string' && known === value.toLowerCase());
  if (!mode) throw agentError('invalid_request', { message: 'invalid prompt_mode' });
  return mode;
}

/** The prompt mode of a turn: the requested one, else the chat's own, else `default`. */
export function effectiveMode(requested: string | undefined, chatMeta: JsonObject): PromptMode {
  const wanted = requested ?? chatMeta.prompt_mode;
  return promptModes.find((mode) => mode === wanted) ?? 'default';
}

function readMaxSteps(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || Number(value) < 1) {
    throw agentError('invalid_request', { message: 'max_steps must be an integer >= 1' });
  }
  return Number(value);
}

/** With a malformed key, a repeated request would silently run twice. */
function readRequestId(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && idempotencyKeyPattern.test(value)) return value;
  throw agentError('invalid_request', { message: 'request_id must have 1 to 128 visible ASCII characters' });
}

function pick(object: JsonObject, members: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([member]) => members.includes(member)));
}

function cronMeta(cron: unknown): JsonObject {
  if (!isJsonObject(cron)) return {};
  const { job_id, job_name } = cron;
  return {
    source: 'cron',
    ...(typeof job_id === 'string' ? { cron_job_id: job_id } : {}),
    ...(typeof job_name === 'string' ? { cron_job_name: job_name } : {}),
  };
}
