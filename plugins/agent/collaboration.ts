import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { agentError } from './errors.js';

/** How the codex mode works with its user. Every mode can be reached from every other one. */
export const collaborationModes = ['Default', 'Plan', 'Execute', 'PairProgramming'] as const;
type CollaborationMode = (typeof collaborationModes)[number];

const modeWords: Readonly<Record<string, CollaborationMode>> = {
  default: 'Default',
  plan: 'Plan',
  execute: 'Execute',
  pair_programming: 'PairProgramming',
  'pair-programming': 'PairProgramming',
  pairprogramming: 'PairProgramming',
};

const eventNames: Readonly<Record<CollaborationMode, string>> = {
  Default: 'set_default',
  Plan: 'set_plan',
  Execute: 'set_execute',
  PairProgramming: 'set_pair_programming',
};

const eventPrefix = /^(?:set_|switch_|to_)/;
/** Events that return to the default mode. */
const resets = ['reset', 'exit'];

/** The mode of a word such as `pair-programming`. */
export function readMode(word: unknown): CollaborationMode | undefined {
  return typeof word === 'string' ? own(modeWords, word.trim().toLowerCase()) : undefined;
}

/** The mode that an event such as `set_plan`, `to_plan` or `reset` leads to. */
export function readEvent(event: unknown): CollaborationMode | undefined {
  if (typeof event !== 'string') return undefined;
  const word = event.trim().toLowerCase();
  return resets.includes(word) ? 'Default' : own(modeWords, word.replace(eventPrefix, ''));
}

/**
 * The mode that the parameters of a request ask for, undefined without any.
 * @throws invalid_request for unknown words and for parameters that contradict each other
 */
export function readCollaboration(parameters: JsonObject): CollaborationMode | undefined {
  const { collaboration_mode, collaboration_event, collaboration } = parameters;
  if (collaboration !== undefined && !isJsonObject(collaboration)) throw invalid('invalid collaboration_event');
  const asked = [
    ...[collaboration_mode, collaboration?.mode].filter(isGiven).map((word) => {
      const mode = readMode(word);
      if (!mode) throw invalid('invalid collaboration_mode');
      return mode;
    }),
    ...[collaboration_event, collaboration?.event].filter(isGiven).map((event) => {
      const mode = readEvent(event);
      if (!mode) throw invalid('invalid collaboration_event');
      return mode;
    }),
  ];
  if (new Set(asked).size > 1) throw invalid('conflicting collaboration_event');
  return asked[0];
}

/** Whether a request has any of these parameters. */
export function hasCollaboration({ collaboration_mode, collaboration_event, collaboration }: JsonObject): boolean {
  return [collaboration_mode, collaboration_event, collaboration].some(isGiven);
}

/**
 * What a codex turn writes into its chat's meta: the mode, and the transition if one was asked for.
 * @param now epoch milliseconds
 */
export function collaborationMeta(asked: CollaborationMode | undefined, chatMeta: JsonObject, now: number): JsonObject {
  if (asked === undefined) {
    return chatMeta.collaboration_mode === undefined ? { collaboration_mode: collaborationModes[0] } : {};
  }
  return {
    collaboration_mode: asked,
    collaboration_last_event: eventNames[asked],
    collaboration_event_source: 'biz_params',
    collaboration_updated_at: `${new Date(now).toISOString().slice(0, 19)}Z`,
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined;
}

function own<V>(table: Readonly<Record<string, V>>, key: string): V | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function invalid(message: string) {
  return agentError('invalid_request', { message });
}
