import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, type CommandFacts, isCodedError, MortiseError, printableText, wrongUsage } from 'mortise/sdk';
import { type ImportDeps, importState } from './import-state.js';

export function importStateCommand(facts: CommandFacts, deps: ImportDeps): Command {
  return {
    ...facts,
    async run({ args: [file], cwd }, ctx) {
      if (file === undefined) return wrongUsage(facts);
      const data = await importState(deps, await readJson(resolve(cwd ?? process.cwd(), file)), ctx);
      const counts = Object.entries(data.imported).map(([what, count]) => `${what.padEnd(10)} ${count}`);
      const skipped = data.skipped.map(({ what, id, reason }) => `not imported: ${what} ${id}: ${reason}`);
      return { exitCode: skipped.length > 0 ? 1 : 0, data, text: printableText([...counts, ...skipped].join('\n')) };
    },
  };
}

/** @throws MortiseError `file_unreadable`, `invalid_json` */
async function readJson(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isCodedError(error)) throw error;
    const { code } = error as { code?: string };
    throw new MortiseError('file_unreadable', `${path} cannot be read (${code ?? 'unknown'})`, { status: 400 });
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new MortiseError('invalid_json', `${path} is not JSON`, { status: 400 });
  }
}
