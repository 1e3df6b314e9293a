import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallOptions, CronNodeProblem } from 'mortise/sdk';
import type { CronWorkflow, WorkflowEdge, WorkflowNode } from '../contract/index.js';
import { cronError } from '../errors.js';
import type { NodeTypes } from './node-types.js';
import { keepParams, paramsOf } from './read-workflow.js';

const version = 'v1';
const maxNodes = 200;
/** The checks of node types are synchronous: other work gets its turn after this time, milliseconds. */
const turnMs = 10;

function refuse(message: string) {
  return cronError('invalid_cron_workflow', { message });
}

/**
 * Checks a document; the first failure wins.
 * @returns the document without parameters that are foreign to their node's type
 * @throws MortiseError `invalid_cron_workflow`.
 */
export async function validateWorkflow(workflow: CronWorkflow, types: NodeTypes): Promise<CronWorkflow> {
  if (workflow.version !== version) throw refuse(`unsupported workflow version="${workflow.version}"`);
  if (workflow.nodes.length < 2) throw refuse('workflow requires at least 2 nodes');
  if (workflow.nodes.length > maxNodes) throw refuse(`workflow must have at most ${maxNodes} nodes`);
  if (workflow.edges.length < 1) throw refuse('workflow requires at least 1 edge');
  const nodes = await checkNodes(workflow.nodes, types);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  checkEdges(workflow.edges, byId);
  checkBranches(workflow.edges, byId, types);
  checkDegrees({ nodes, edges: workflow.edges });
  checkStart({ nodes, edges: workflow.edges });
  checkPaths({ nodes, edges: workflow.edges });
  return { ...workflow, nodes };
}

async function checkNodes(nodes: readonly WorkflowNode[], types: NodeTypes): Promise<readonly WorkflowNode[]> {
  const ids = new Set<string>();
  const checked: WorkflowNode[] = [];
  let starts = 0;
  let turnFrom = performance.now();
  for (const node of nodes) {
    if (performance.now() - turnFrom > turnMs) {
      await nextTurn();
      turnFrom = performance.now();
    }
    const { id, type } = node;
    if (id === '') throw refuse('workflow node id is required');
    if (ids.has(id)) throw refuse(`workflow node id duplicated: ${id}`);
    ids.add(id);
    if (type === 'start') {
      starts += 1;
      if (starts > 1) throw refuse('workflow requires exactly one start node');
      checked.push(keepParams(node, () => false));
    } else {
      checked.push(await checkNode(node, types));
    }
  }
  if (starts === 0) throw refuse('workflow requires exactly one start node');
  return checked;
}

async function checkNode(node: WorkflowNode, types: NodeTypes): Promise<WorkflowNode> {
  const facts = types.facts(node.type);
  if (!facts) throw refuse(`workflow node ${node.id} has unsupported type="${node.type}"`);
  const { properties = {} } = facts.paramsSchema as { readonly properties?: object };
  const kept = facts.dropsOtherParams ? keepParams(node, (param) => Object.hasOwn(properties, param)) : node;
  throwProblem(node, await types.problem(node.type, paramsOf(kept)));
  return kept;
}

function throwProblem({ id }: WorkflowNode, problem: CronNodeProblem | undefined): void {
  if (problem === undefined) return;
  throw refuse(
    typeof problem === 'string'
      ? `workflow node ${id} invalid: ${problem}`
      : `workflow node ${id} ${problem.predicate}`,
  );
}

/**
 * Checks that what the nodes of a valid document name exists, such as tools and models.
 * @throws MortiseError `invalid_cron_workflow`.
 */
export async function checkNamed(
  { nodes }: CronWorkflow,
  types: NodeTypes,
  checkTurn: Parameters<NodeTypes['missing']>[2],
  options: CallOptions,
): Promise<void> {
  for (const node of nodes) throwProblem(node, await types.missing(node.type, paramsOf(node), checkTurn, options));
}

function checkEdges(edges: readonly WorkflowEdge[], nodes: ReadonlyMap<string, WorkflowNode>): void {
  const ids = new Set<string>();
  for (const { id, source, target } of edges) {
    if (id === '') throw refuse('workflow edge id is required');
    if (ids.has(id)) throw refuse(`workflow edge id duplicated: ${id}`);
    ids.add(id);
    if (source === '' || target === '') throw refuse(`workflow edge ${id} requires source and target`);
    if (source === target) throw refuse(`workflow edge ${id} cannot link node to itself`);
    if (!nodes.has(source)) throw refuse(`workflow edge ${id} source not found: ${source}`);
    if (!nodes.has(target)) throw refuse(`workflow edge ${id} target not found: ${target}`);
  }
}

function checkBranches(
  edges: readonly WorkflowEdge[],
  nodes: ReadonlyMap<string, WorkflowNode>,
  types: NodeTypes,
): void {
  const taken = new Set<string>();
  for (const { id, source, branch } of edges) {
    if (branch === undefined) continue;
    if (branch !== 'true' && branch !== 'false') throw refuse(`workflow edge ${id} branch must be true or false`);
    if (!types.facts(nodes.get(source)?.type ?? '')?.branches) {
      throw refuse(`workflow edge ${id} branch is only allowed after if_event`);
    }
    const key = JSON.stringify([source, branch]);
    if (taken.has(key)) throw refuse(`workflow node ${source} has duplicate branch "${branch}"`);
    taken.add(key);
  }
}

type Graph = Pick<CronWorkflow, 'nodes' | 'edges'>;

/** Any node may have one incoming edge, or several when branches may join. */
function checkDegrees({ nodes, edges }: Graph): void {
  const joins = edges.some(({ branch }) => branch !== undefined);
  for (const { id } of nodes) {
    const leaving = edges.filter(({ source }) => source === id);
    if (leaving.length > 1 && leaving.some(({ branch }) => branch === undefined)) {
      throw refuse(`workflow node ${id} has more than one outgoing edge`);
    }
    if (!joins && edges.filter(({ target }) => target === id).length > 1) {
      throw refuse(`workflow node ${id} has more than one incoming edge`);
    }
  }
}

export function startOf(nodes: readonly WorkflowNode[]): string {
  return nodes.find(({ type }) => type === 'start')?.id ?? '';
}

function checkStart({ nodes, edges }: Graph): void {
  const start = startOf(nodes);
  if (edges.some(({ target }) => target === start)) throw refuse('workflow start node cannot have incoming edge');
  if (!edges.some(({ source }) => source === start)) {
    throw refuse('workflow start node must connect to at least one executable node');
  }
}

function checkPaths({ nodes, edges }: Graph): void {
  const targets = Map.groupBy(edges, ({ source }) => source);
  const incoming = new Map(nodes.map(({ id }) => [id, edges.filter(({ target }) => target === id).length]));
  // Nodes without incoming edges are taken away until none is left; what remains is a cycle.
  const free = nodes.filter(({ id }) => incoming.get(id) === 0).map(({ id }) => id);
  let removed = 0;
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    removed += 1;
    for (const { target } of targets.get(id) ?? []) {
      const left = (incoming.get(target) ?? 0) - 1;
      incoming.set(target, left);
      if (left === 0) free.push(target);
    }
  }
  if (removed < nodes.length) throw refuse('workflow graph must be acyclic');
  const reached = new Set([startOf(nodes)]);
  for (const id of reached) for (const { target } of targets.get(id) ?? []) reached.add(target);
  const lost = nodes.find(({ id }) => !reached.has(id));
  if (lost) throw refuse(`workflow node ${lost.id} is not reachable from start`);
}
