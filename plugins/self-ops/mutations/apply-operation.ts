import { maxPromptBytes } from 'mortise/contracts/prompts';
import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { applyPatch, type Operation as PatchOperation } from 'rfc6902';
import { invalidRequest } from '../errors.js';
import type { DocumentKind, MutationTarget, Operation } from './mutation.js';

/**
 * The content of a document after one operation. Pure.
 * @throws invalid_request when the operation does not fit the document
 */
export function applyOperation(
  content: unknown,
  kind: DocumentKind,
  { target, operation }: { readonly target: MutationTarget; readonly operation: Operation },
): unknown {
  if (kind === 'text') return changeText(content as string | undefined, operation);
  if (operation.kind === 'text_rewrite') {
    throw invalidRequest(
      target === 'workspace_file'
        ? 'text_rewrite is only supported for text workspace files'
        : `text_rewrite is not supported for ${target} target`,
    );
  }
  if (operation.kind === 'json_patch') return patchJson(content, operation.patch);
  if (target === 'workspace_file') return operation.value;
  const { path, value } = operation;
  return patchJson(content, [{ op: 'replace', path, value }], () => 'operation');
}

/** UTF-16 units of a text after one operation: what is larger is no prompt, and is not even made. */
const maxTextBytes = maxPromptBytes;

function changeText(content: string | undefined, operation: Operation): string {
  if (operation.kind === 'json_patch') throw invalidRequest('json_patch is not supported for text workspace files');
  if (operation.kind === 'replace') {
    if (typeof operation.value !== 'string') throw invalidRequest('operation.value must be a text');
    if (operation.value.length > maxTextBytes)
      throw invalidRequest('the text would be larger than 1 MiB', { path: operation.path });
    return operation.value;
  }
  if (content === undefined) throw invalidRequest('workspace file not found');
  const { search, replace } = operation;
  const found = content.split(search).length - 1;
  if (content.length + found * (replace.length - search.length) > maxTextBytes)
    throw invalidRequest('the text would be larger than 1 MiB', { path: operation.path });
  return content.replaceAll(search, () => replace);
}

const supported = ['add', 'replace', 'remove', 'test'];
/** Parts of a JSON pointer. Settings are a few levels deep. */
const maxPointerDepth = 100;
const unsafe = ['__proto__', 'constructor', 'prototype'];

/**
 * Applies RFC 6902 operations to a copy. The document is a member of a holder, so that its root can be replaced too.
 * @param placeOf how errors name an operation of the patch
 */
function patchJson(
  content: unknown,
  patch: readonly unknown[],
  placeOf = (index: number): string => `patch[${index}]`,
): unknown {
  const holder = { root: structuredClone(content) };
  for (const [index, given] of patch.entries()) {
    const where = placeOf(index);
    const operation = readPatchOperation(given, where);
    const inHolder = { ...operation, path: `/root${operation.path}` } as PatchOperation;
    const hasParent = operation.op !== 'add' || createParents(holder, inHolder.path);
    const [failure] = hasParent ? applyPatch(holder, [inHolder]) : [new Error('no parent')];
    // Its own message quotes the value that is stored, which may be a secret.
    if (failure) {
      throw invalidRequest(
        failure.name === 'TestError' ? `${where} does not match` : `${where}: there is nothing at its path`,
        { path: operation.path },
      );
    }
  }
  return holder.root;
}

function readPatchOperation(given: unknown, where: string) {
  if (!isJsonObject(given)) throw invalidRequest(`${where} must be an object`);
  const { op, path } = given;
  if (typeof op !== 'string' || !supported.includes(op)) {
    throw invalidRequest(`${where}.op must be one of add|replace|remove|test`);
  }
  if (typeof path !== 'string' || !/^(?:\/(?:[^~/]|~[01])*)*$/.test(path)) {
    throw invalidRequest(`${where}.path must be a JSON pointer`);
  }
  if (tokens(path).length > maxPointerDepth)
    throw invalidRequest(`${where}.path has more than ${maxPointerDepth} parts`);
  if (tokens(path).some((token) => unsafe.includes(token))) throw invalidRequest(`${where}.path is not allowed`);
  if (op === 'remove') {
    if (path === '') throw invalidRequest(`${where} cannot remove the whole document`);
    return { op, path };
  }
  if (!('value' in given)) throw invalidRequest(`${where}.value is required`);
  return { op, path, value: given.value };
}

/** An added value creates the objects on the way to it. @returns false when something else is in the way */
function createParents(holder: JsonObject, path: string): boolean {
  let at: unknown = holder;
  for (const token of tokens(path).slice(0, -1)) {
    if (Array.isArray(at)) at = /^\d+$/.test(token) ? at[Number(token)] : undefined;
    else if (isJsonObject(at)) {
      const members = at as Record<string, unknown>;
      if (!Object.hasOwn(members, token)) members[token] = {};
      at = members[token];
    }
  }
  return Array.isArray(at) || isJsonObject(at);
}

function tokens(path: string): readonly string[] {
  const parts = path.split('/').slice(1);
  return parts.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}
