import { resolve } from 'node:path';
import { type CallContext, type CommandInput, type CommandResult, MortiseError } from 'mortise/sdk';
import type { RepoChoice } from '../service/knowledge-base.js';

export function done(data: unknown, text: string): CommandResult {
  return { exitCode: 0, data, text };
}

export function usage(problem: string): CommandResult {
  return { exitCode: 2, data: { error: 'usage', message: problem }, text: problem };
}

const usageCodes = new Set(['invalid_request', 'invalid_query', 'invalid_json', 'invalid_evidence_ref']);

/** A value that the service refuses is a usage error too; other errors are thrown again. */
export function refusedValue(error: unknown): CommandResult {
  if (!(error instanceof MortiseError) || !usageCodes.has(error.code)) throw error;
  const { code, message, details } = error;
  return { exitCode: 2, data: { error: 'usage', message, code, ...details }, text: message };
}

export function argument({ args }: CommandInput, name: string): string {
  const [first = '', second] = args;
  if (second !== undefined) throw new MortiseError('invalid_request', `Give one ${name}.`, { status: 400 });
  return first;
}

/** @throws MortiseError `admin_required` (403) for a folder that is not a configured repo */
export function choiceOf({ options, cwd }: CommandInput, { principal }: CallContext): RepoChoice {
  const { repo, root } = options;
  if (repo !== undefined && root !== undefined) {
    throw new MortiseError('invalid_request', 'Give --repo or --root, not both.', { status: 400 });
  }
  if (root !== undefined && !principal.admin) {
    throw new MortiseError('admin_required', 'Only the admin right opens a folder that is not a configured repo.', {
      status: 403,
      hint: 'Name a configured repo with --repo, or give the admin key with --admin-key.',
    });
  }
  return {
    repo: typeof repo === 'string' ? repo : undefined,
    root: typeof root === 'string' ? resolve(cwd ?? process.cwd(), root) : undefined,
  };
}
