import type { Violation } from '../checker/evidence.js';
import type { Acknowledgement } from './acknowledgement.js';

/**
 * What may be refused here: the same memory is being written by a process that is dead, which nobody knows yet; and a
 * server that takes long to start answers before its plugins do. Nothing else is asked for that the product may say no to.
 */
const expected: readonly string[] = ['WRITE_IN_PROGRESS', 'PLUGIN_UNAVAILABLE', 'TOOL_EXECUTOR_NOT_REGISTERED'];

/** Requests that were refused though there was no reason to. */
export function unexpectedRefusals(acknowledgements: readonly Acknowledgement[]): readonly Violation[] {
  return acknowledgements.flatMap(({ promised, wish }) =>
    promised.kind !== 'refused' || expected.includes(promised.why)
      ? []
      : [{ rule: 'answers', what: `"${wish.text.slice(0, 40)}" was refused: ${promised.why}` }],
  );
}
