import { batchResult } from 'mortise/contracts/agent';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { isCodedError } from 'mortise/sdk';
import { inputError } from './errors.js';
import { linesOf, replaceLines } from './lines.js';
import { checkRange, type ViewItem } from './view.js';

export interface EditItem extends ViewItem {
  readonly content: string;
}

interface Edited {
  readonly text: string;
}

/** Replaces lines. All items are applied in order to texts in memory first, then all files are written, or none. */
export function edit(items: readonly EditItem[], files: WorkspaceFiles): Promise<object> {
  return files.exclusive(async () => {
    const texts = new Map<string, string>();
    const results: Edited[] = [];
    for (const item of items) results.push(await editOne(item, texts, files));
    await files.commit([...texts].map(([real, content]) => ({ real, content })));
    return batchResult(results, '\n');
  });
}

async function editOne(item: EditItem, texts: Map<string, string>, files: WorkspaceFiles): Promise<Edited> {
  const { path, start, end, content } = item;
  checkRange(path, start, end);
  const real = await files.locate(path, 'write');
  const before = texts.get(real) ?? (await existing(path, files));
  const total = linesOf(before ?? '').length;
  // An empty file has no line to replace: its first one is written.
  const isNew = before === undefined || before === '';
  if (!isNew && end > total) throw inputError('out_of_bounds', { total_lines: total });
  if (before === '' && start > 1) throw inputError('out_of_bounds', { total_lines: 0 });
  const after = isNew ? content : replaceLines(before, start, end, content);
  texts.set(real, after);
  const replaced = isNew ? 0 : end - start + 1;
  return {
    ok: true,
    path,
    start,
    end,
    replaced_lines: replaced,
    inserted_lines: linesOf(content).length,
    total_lines_after: linesOf(after).length,
    text: `edit ${path} [${start}-${end}] replaced ${replaced} line(s).`,
  } as Edited;
}

/** The text of a file; undefined when there is none. */
async function existing(path: string, files: WorkspaceFiles): Promise<string | undefined> {
  try {
    return (await files.readText(path, 'write')).text;
  } catch (error) {
    if (isCodedError(error) && error.message === inputError('missing').message) return undefined;
    throw error;
  }
}
