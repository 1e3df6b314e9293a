import type { Draft } from '../draft.js';

/** What is not worth a thought: blanks, and everything from outside while the process is overloaded. */
export function hardBypass(draft: Draft): void {
  const { obs_type: type, quality_flags: flags } = draft.observation;
  if (type !== 'message' && type !== 'world_data') return;
  if (type === 'message' && flags.length > 0 && flags.includes('EMPTY_CONTENT')) draft.propose('drop', 'empty_content');
  if (draft.overload) draft.propose('drop', 'system_overload');
}
