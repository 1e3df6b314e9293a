import type { JsonObject } from 'mortise/sdk';
import type { PromptMode } from './business-params.js';
import { readRuntimeTools } from './runtime-tools.js';
import type { ToolScope } from './tool-registry.js';

const startMode = 'Default';

/**
 * The scope of a turn: its prompt mode, the chat's collaboration mode, and the runtime tools of all sources.
 *
 * @param sources the chat's meta first; later ones take precedence
 */
export function toolScope(promptMode: PromptMode, ...sources: readonly JsonObject[]): ToolScope {
  const modes = sources
    .map(({ collaboration_mode: mode }) => mode)
    .filter((mode) => typeof mode === 'string' && mode !== '');
  return {
    promptMode,
    collaborationMode: (modes.at(-1) as string | undefined) ?? startMode,
    runtimeTools: readRuntimeTools(...sources),
  };
}
