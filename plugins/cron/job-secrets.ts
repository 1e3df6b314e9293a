import { isJsonObject, isSensitiveName, maskDeep } from 'mortise/sdk';
import type { CronJobSpec, WorkflowNode } from './contract/index.js';
import { cronError } from './errors.js';

/** Members besides the nodes of a workflow that hold free data of the job's author. */
const openMembers = ['request', 'dispatch', 'meta'] as const;

/** A job as answers show it: secrets are masked, as in the records of its runs. The text of a task is a message and stays. */
export function maskedJob<Spec extends CronJobSpec>(spec: Spec): Spec {
  const { workflow, request, dispatch, meta } = spec;
  return {
    ...spec,
    ...(workflow ? { workflow: { ...workflow, nodes: workflow.nodes.map(maskedNode) } } : {}),
    ...(request ? { request: masked(request) } : {}),
    dispatch: { ...dispatch, meta: masked(dispatch.meta) },
    meta: masked(meta),
  };
}

const masked = maskDeep as <T>(value: T) => T;

function maskedNode(node: WorkflowNode): WorkflowNode {
  return { ...masked(node), id: node.id, type: node.type };
}

/**
 * Replaces masks in a job that was read, changed and sent back by the stored secrets. In a workflow the secret is in
 * the node with the same id, unless it would be sent elsewhere: the node has another type, tool or server.
 *
 * @param otherMasks how a mask without a stored secret is handled
 * @throws MortiseError `invalid_cron_workflow` or `invalid_request` for such a mask, when it is refused
 */
export function unmaskedJob(
  spec: CronJobSpec,
  stored: CronJobSpec | undefined,
  otherMasks: 'refuse' | 'empty' = 'refuse',
): CronJobSpec {
  const shown = stored && maskedJob(stored);
  const { workflow } = spec;
  const open = Object.fromEntries(
    openMembers.flatMap((member) => {
      const given = spec[member];
      if (given === undefined) return [];
      const restored = restore(given, stored?.[member], shown?.[member]);
      const refuse = (path: readonly string[]) =>
        cronError('invalid_request', {
          message: `${[member, ...path].join('.')} has a mask instead of a secret`,
          hint: 'Give the secret itself. A mask keeps the secret only where the same job had it.',
          details: { job_id: spec.id },
        });
      return [[member, withoutMasks(restored, { before: stored?.[member], otherMasks, refuse })]];
    }),
  ) as Pick<CronJobSpec, (typeof openMembers)[number]>;
  if (!workflow) return { ...spec, ...open };
  const nodes = workflow.nodes.map((node) => {
    const known = stored?.workflow?.nodes.find(({ id }) => id === node.id);
    const before = known && hasSameDestination(node, known) ? known : undefined;
    const restored = restore(node, before, before && maskedNode(before));
    const refuse = (path: readonly string[]) =>
      cronError('invalid_cron_workflow', {
        message: `workflow node ${node.id} has a mask instead of a secret at ${path.join('.')}`,
        hint: 'Give the secret itself. A mask keeps the secret only in an unchanged text of the same node, with the same server or tool.',
        details: { job_id: spec.id, node_id: node.id },
      });
    return withoutMasks(restored, { before, otherMasks, refuse }) as WorkflowNode;
  });
  return { ...spec, ...open, workflow: { ...workflow, nodes } };
}

const address = /^\s*(?:(https?:)[\\/]*([^\\/?#]*)|(\{[{%].*))/i;

/** Whether a node sends its data only to its former destinations. */
function hasSameDestination(node: WorkflowNode, stored: WorkflowNode): boolean {
  const goesTo = (one: WorkflowNode) => JSON.stringify([one.type, one.tool, serversIn(one)]);
  return goesTo(node) === goesTo(stored);
}

/** Scheme, host and port of the addresses in parameters, without credentials; of one that a template makes, the template. */
function serversIn(value: unknown): readonly string[] {
  if (typeof value === 'string') {
    // As the URL parser reads it.
    const [, scheme = '', authority = '', template] = address.exec(value.replace(/[\t\n\r]/g, '')) ?? [];
    if (template !== undefined) return [template];
    return scheme === '' ? [] : [`${scheme}//${authority.replace(/^.*@/, '')}`.toLowerCase()];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(serversIn) : [];
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
/** What `redactSecrets` puts in the place of a secret within a text. */
const redaction = '[REDACTED]';

interface Unmasking {
  /** The stored value; what is in it is no mask. */
  readonly before: unknown;
  readonly otherMasks: 'refuse' | 'empty';
  refuse(path: readonly string[]): Error;
}

function withoutMasks(value: unknown, unmasking: Unmasking, path: readonly string[] = []): unknown {
  if (typeof value === 'string') return withoutMask(value, unmasking, path);
  if (typeof value !== 'object' || value === null) return value;
  const { before } = unmasking;
  const entries = Object.entries(value).map(([key, member]) => {
    const known = typeof before === 'object' && before !== null ? Reflect.get(before, key) : undefined;
    return [key, withoutMasks(member, { ...unmasking, before: known }, [...path, key])] as const;
  });
  return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries);
}

function withoutMask(text: string, { before, otherMasks, refuse }: Unmasking, path: readonly string[]): string {
  if (text === before) return text;
  const isMask = isSensitiveName(path.at(-1) ?? '') && mask.test(text);
  if (!isMask && !text.includes(redaction)) return text;
  if (otherMasks === 'refuse') throw refuse(path);
  return isMask ? '' : text.replaceAll(redaction, '');
}
