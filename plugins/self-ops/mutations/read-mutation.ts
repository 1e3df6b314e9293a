import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { invalidRequest } from '../errors.js';
import { readFlag, readObject, readRawText, readText } from '../read-body.js';
import type { MutationTarget, Operation } from './mutation.js';

export interface MutationRequest {
  readonly target: MutationTarget;
  readonly operations: readonly Operation[];
  readonly allowSensitive: boolean;
}

const targets: readonly MutationTarget[] = ['workspace_file', 'provider_config', 'active_llm'];
const maxOperations = 100;

/** The body of a preview. @throws invalid_json, invalid_request */
export function readMutation(given: unknown): MutationRequest {
  const body = readObject(given);
  const named = readText(body, 'target');
  if (named === '') throw invalidRequest('target is required');
  const target = targets.find((one) => one === named);
  if (!target) throw invalidRequest('unsupported mutation target', { targets });
  const { operations } = body;
  if (!Array.isArray(operations) || operations.length === 0) throw invalidRequest('operations are required');
  if (operations.length > maxOperations) throw invalidRequest(`at most ${maxOperations} operations are allowed`);
  return {
    target,
    operations: operations.map((operation: unknown) => readOperation(operation, target)),
    allowSensitive: readFlag(body, 'allow_sensitive'),
  };
}

function readOperation(given: unknown, target: MutationTarget): Operation {
  if (!isJsonObject(given)) throw invalidRequest('each operation must be an object');
  const path = readRawText(given, 'path');
  if (target === 'workspace_file' && path.trim() === '') throw invalidRequest('operation.path is required');
  switch (given.kind) {
    case 'replace':
      if (!('value' in given)) throw invalidRequest('operation.value is required');
      return { kind: 'replace', path, value: given.value };
    case 'json_patch':
      return { kind: 'json_patch', path, patch: readPatch(given) };
    case 'text_rewrite': {
      const search = readRawText(given, 'search');
      if (search.trim() === '') throw invalidRequest('operation.search is required');
      return { kind: 'text_rewrite', path, search, replace: readRawText(given, 'replace') };
    }
    default:
      throw invalidRequest('operation.kind must be one of replace|json_patch|text_rewrite');
  }
}

function readPatch({ patch }: JsonObject): readonly unknown[] {
  if (!Array.isArray(patch) || patch.length === 0) throw invalidRequest('operation.patch must be a list of operations');
  return patch;
}
