import type { JsonObject, PromptRequest } from 'mortise/sdk';
import type { PromptMode } from './business-params.js';
import { collaborationModes } from './collaboration.js';

interface PromptInput {
  readonly promptMode: PromptMode;
  /** The chat's meta, overlaid by that of the request. */
  readonly meta: JsonObject;
  readonly userText: string;
  readonly sessionId?: string | undefined;
  readonly userId?: string | undefined;
  readonly modelSlug?: string | undefined;
  /** Names of the tools that the model is offered. */
  readonly tools?: readonly string[] | undefined;
}

const taskCommands = ['review', 'compact', 'memory'];

/** The request to the prompt sources of a turn. Task commands and collaboration modes belong to the codex mode. */
export function promptRequest({
  promptMode,
  meta,
  userText,
  sessionId,
  userId,
  modelSlug,
  tools,
}: PromptInput): PromptRequest {
  const codex = promptMode === 'codex';
  const task = codex ? taskCommandOf(userText) : undefined;
  return {
    promptMode,
    userText,
    meta,
    ...(task ? { taskCommand: task } : {}),
    ...(codex ? { collaborationMode: collaborationOf(meta) } : {}),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(userId === undefined ? {} : { userId }),
    ...(modelSlug === undefined ? {} : { modelSlug }),
    ...(tools === undefined ? {} : { tools }),
  };
}

/** `review` when the first word of the text is `/review`. */
export function taskCommandOf(text: string): string | undefined {
  const word = /^\s*\/([a-z]+)(?=\s|$)/.exec(text)?.[1];
  return word !== undefined && taskCommands.includes(word) ? word : undefined;
}

function collaborationOf({ collaboration_mode: mode }: JsonObject): string {
  return collaborationModes.find((known) => known === mode) ?? collaborationModes[0];
}
