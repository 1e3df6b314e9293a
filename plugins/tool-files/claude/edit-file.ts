import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { invalidInput } from '../errors.js';

export interface ExactEdit {
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean;
}

/** Creates or replaces a file. */
export function writeFile({ file_path: path, content }: { file_path: string; content: string }, files: WorkspaceFiles) {
  return files.exclusive(async () => {
    await files.commit([{ real: await files.locate(path, 'write'), content }]);
    const bytes = Buffer.byteLength(content);
    return { ok: true, path, bytes, text: `Write ${path} ok (bytes=${bytes})` };
  });
}

/** Replaces exact texts in a file, one after another; none when one does not fit. */
export function editFile(tool: string, path: string, edits: readonly ExactEdit[], files: WorkspaceFiles) {
  return files.exclusive(async () => {
    const file = await files.readText(path, 'write');
    let { text } = file;
    let replacements = 0;
    for (const [index, edit] of edits.entries()) {
      const parts = text.split(edit.old_string);
      const count = parts.length - 1;
      const where = edits.length === 1 ? {} : { edit: index + 1 };
      if (edit.old_string === edit.new_string) throw invalidInput('old_string and new_string are the same', where);
      if (count === 0) throw invalidInput('old_string was not found in the file', where);
      if (count > 1 && edit.replace_all !== true) {
        throw invalidInput(`old_string occurs ${count} times; add context or set replace_all`, { ...where, count });
      }
      text = parts.join(edit.new_string);
      replacements += count;
    }
    await files.commit([{ real: file.real, content: text }]);
    return { ok: true, path, replacements, text: `${tool} ${path} ok (replacements=${replacements})` };
  });
}
