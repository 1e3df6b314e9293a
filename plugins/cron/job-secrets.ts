import { isJsonObject, isSensitiveName, maskDeep } from 'mortise/sdk';
import type { CronJobSpec, WorkflowNode } from './contract/index.js';
import { cronError } from './errors.js';

/** A job as answers show it: secrets among the parameters of its nodes are masked, as in the records of its runs. */
export function maskedJob<Spec extends CronJobSpec>(spec: Spec): Spec {
  const { workflow } = spec;
  return workflow ? { ...spec, workflow: { ...workflow, nodes: workflow.nodes.map(maskedNode) } } : spec;
}

function maskedNode(node: WorkflowNode): WorkflowNode {
  return { ...(maskDeep(node) as WorkflowNode), id: node.id, type: node.type };
}

/**
 * A job that was read, changed and sent again: where a mask came back, the stored node of the same id has the secret.
 *
 * @param otherMasks what becomes of a mask that stands for no stored secret
 * @throws MortiseError `invalid_cron_workflow` for such a mask, when it is refused
 */
export function unmaskedJob(
  spec: CronJobSpec,
  stored: CronJobSpec | undefined,
  otherMasks: 'refuse' | 'empty' = 'refuse',
): CronJobSpec {
  const { workflow } = spec;
  if (!workflow) return spec;
  const before = new Map(stored?.workflow?.nodes.map((node) => [node.id, node]));
  const nodes = workflow.nodes.map((node) => {
    const known = before.get(node.id);
    const restored = restore(node, known, known && maskedNode(known));
    return withoutMasks(restored, (path) => {
      if (otherMasks === 'empty') return '';
      throw cronError('invalid_cron_workflow', {
        message: `workflow node ${node.id} has a mask instead of a secret at ${path.join('.')}`,
        hint: 'Give the secret itself. A mask keeps the secret only in the same node of the same job.',
        details: { job_id: spec.id, node_id: node.id },
      });
    }) as WorkflowNode;
  });
  return { ...spec, workflow: { ...workflow, nodes } };
}

/** `given`, with the stored value wherever it is equal to what was shown of it. */
function restore(given: unknown, stored: unknown, shown: unknown): unknown {
  if (Array.isArray(given)) {
    const [values, masks] = [stored, shown].map((one) => (Array.isArray(one) ? one : []));
    return given.map((value, index) => restore(value, values?.[index], masks?.[index]));
  }
  if (isJsonObject(given)) {
    const [values, masks] = [stored, shown].map((one) => (isJsonObject(one) ? one : {}));
    return Object.fromEntries(
      Object.entries(given).map(([key, value]) => [key, restore(value, values?.[key], masks?.[key])]),
    );
  }
  return given === shown && stored !== undefined ? stored : given;
}

/** What `maskSecret` makes of a text. */
const mask = /^(?:..\*\*\*..|\*\*\*)$/su;

function withoutMasks(
  value: unknown,
  instead: (path: readonly string[]) => string,
  path: readonly string[] = [],
): unknown {
  if (Array.isArray(value)) return value.map((one, index) => withoutMasks(one, instead, [...path, String(index)]));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const isMask = typeof member === 'string' && isSensitiveName(key) && mask.test(member);
      return [key, isMask ? instead([...path, key]) : withoutMasks(member, instead, [...path, key])];
    }),
  );
}
