import { agentError } from './errors.js';
import { isObject, isText, type Json } from './json.js';

export const promptModes = ['default', 'codex', 'claude'] as const;
export type PromptMode = (typeof promptModes)[number];

/** Whom a reply is meant for. A caller may not change where and how a channel sends. */
const channelMembers = ['target_type', 'target_id', 'msg_id', 'bot_prefix', 'dm_guild_id'];

/** What `biz_params` says of the turn. */
export interface BusinessParams {
  readonly promptMode: PromptMode | undefined;
  readonly collaboration: boolean;
  readonly maxSteps: number | undefined;
  readonly requestId: string | undefined;
  readonly debug: boolean;
  /** Members that the chat's meta takes over. */
  readonly chatMeta: Json;
  /** Addresses of this reply, over those of the channel's configuration. */
  readonly channelConfig: Json | undefined;
}

export function readBusinessParams(business: Json): BusinessParams {
  const promptMode = readPromptMode(business);
  const { collaboration_mode, collaboration_event, collaboration, channel } = business;
  return {
    promptMode,
    collaboration: [collaboration_mode, collaboration_event, collaboration].some((value) => value !== undefined),
    maxSteps: readMaxSteps(business.max_steps),
    requestId: isText(business.request_id) && business.request_id !== '' ? business.request_id : undefined,
    debug: business.debug === true,
    chatMeta: { ...(promptMode ? { prompt_mode: promptMode } : {}), ...cronMeta(business.cron) },
    channelConfig: isObject(channel) ? pick(channel, channelMembers) : undefined,
  };
}

function readPromptMode(business: Json): PromptMode | undefined {
  if (!('prompt_mode' in business)) return undefined;
  const value = business.prompt_mode;
  const mode = promptModes.find((known) => isText(value) && known === value.toLowerCase());
  if (!mode) throw agentError('invalid_request', { message: 'invalid prompt_mode' });
  return mode;
}

function readMaxSteps(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || Number(value) < 1) {
    throw agentError('invalid_request', { message: 'max_steps must be an integer >= 1' });
  }
  return Number(value);
}

function pick(object: Json, members: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([member]) => members.includes(member)));
}

function cronMeta(cron: unknown): Json {
  if (!isObject(cron)) return {};
  const { job_id, job_name } = cron;
  return {
    source: 'cron',
    ...(isText(job_id) ? { cron_job_id: job_id } : {}),
    ...(isText(job_name) ? { cron_job_name: job_name } : {}),
  };
}
