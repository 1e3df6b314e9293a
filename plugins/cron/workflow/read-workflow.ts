import { isJsonObject, type JsonObject } from 'mortise/sdk';
import type { CronWorkflow, WorkflowEdge, WorkflowNode } from '../contract/index.js';
import { cronError } from '../errors.js';
import { readFlag, readNumber, readObject, readObjects, readText } from '../read-members.js';

/** Members of a node that do not belong to its type. */
const structure = ['id', 'type', 'title', 'x', 'y', 'continue_on_error'];

/** The parameters of a node's type. */
export function paramsOf(node: WorkflowNode): JsonObject {
  return Object.fromEntries(Object.entries(node).filter(([member]) => !structure.includes(member)));
}

/** A node without some of its parameters. */
export function keepParams(node: WorkflowNode, keeps: (param: string) => boolean): WorkflowNode {
  const kept = Object.entries(node).filter(([member]) => structure.includes(member) || keeps(member));
  return Object.fromEntries(kept) as unknown as WorkflowNode;
}

/**
 * The document with its types checked and its names normalised; undefined when there is none.
 * @throws MortiseError `invalid_json`.
 */
export function readWorkflow(value: unknown): CronWorkflow | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw cronError('invalid_json');
  const viewport = readObject(value, 'viewport');
  return {
    version: readText(value, 'version').trim(),
    ...(viewport ? { viewport: readViewport(viewport) } : {}),
    nodes: readObjects(value, 'nodes').map(readNode),
    edges: readObjects(value, 'edges').map(readEdge),
  };
}

function readViewport(viewport: JsonObject): NonNullable<CronWorkflow['viewport']> {
  const zoom = readNumber(viewport, 'zoom');
  return {
    pan_x: readNumber(viewport, 'pan_x'),
    pan_y: readNumber(viewport, 'pan_y'),
    zoom: zoom <= 0 ? 1 : zoom,
  };
}

function readNode(node: JsonObject): WorkflowNode {
  // Members of the built-in types have their types in every node.
  readText(node, 'text');
  readText(node, 'if_condition');
  readNumber(node, 'delay_seconds');
  const title = readText(node, 'title');
  const { title: _, continue_on_error: __, ...rest } = node;
  return {
    ...rest,
    id: readText(node, 'id').trim(),
    type: readText(node, 'type').trim().toLowerCase(),
    ...(title === '' ? {} : { title }),
    x: readNumber(node, 'x'),
    y: readNumber(node, 'y'),
    ...(readFlag(node, 'continue_on_error') ? { continue_on_error: true } : {}),
  };
}

function readEdge(edge: JsonObject): WorkflowEdge {
  const { branch } = edge;
  const text = typeof branch === 'boolean' ? String(branch) : readText(edge, 'branch').trim();
  return {
    id: readText(edge, 'id').trim(),
    source: readText(edge, 'source').trim(),
    target: readText(edge, 'target').trim(),
    ...(text === '' ? {} : { branch: text }),
  };
}
