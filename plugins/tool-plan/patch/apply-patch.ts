import { isAbsolute, join } from 'node:path';
import type { FileChange, WorkspaceFiles } from 'mortise/contracts/tool-files';
import { planError } from '../errors.js';
import { applyHunks } from './apply-hunks.js';
import { type PatchStep, parsePatch } from './parse-patch.js';

/** Applies a patch: all files are computed first, then written, or none. */
export function applyPatch(
  { patch, workdir }: { readonly patch: string; readonly workdir?: string },
  files: WorkspaceFiles,
): Promise<object> {
  const steps = parsePatch(patch);
  return files.exclusive(async () => {
    const folder = workdir === undefined || workdir === '' ? await files.root() : await files.locate(workdir, 'read');
    const draft = new Draft(files);
    const summary: string[] = [];
    for (const step of steps) summary.push(await applyStep(step, (path) => below(folder, path), draft));
    await files.commit(draft.changes);
    const text = ['Success. Updated the following files:', ...summary].join('\n');
    return { ok: true, files: summary, text };
  });
}

async function applyStep(step: PatchStep, place: (path: string) => string, draft: Draft): Promise<string> {
  const { path } = step;
  if (step.kind === 'add') {
    if ((await draft.read(place(path))) !== undefined) throw wrong(`${path} exists already`);
    await draft.write(place(path), step.lines.map((line) => `${line}\n`).join(''));
    return `A ${path}`;
  }
  const text = await draft.read(place(path));
  if (text === undefined) throw wrong(`${path} does not exist`);
  if (step.kind === 'delete') {
    await draft.remove(place(path));
    return `D ${path}`;
  }
  const changed = applyHunks(path, text, step.hunks);
  if (step.target === undefined) {
    await draft.write(place(path), changed);
    return `M ${path}`;
  }
  if ((await draft.read(place(step.target))) !== undefined) throw wrong(`${step.target} exists already`);
  await draft.write(place(step.target), changed, place(path));
  await draft.remove(place(path));
  return `M ${step.target}`;
}

function below(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

/** The files as they will be: later steps of a patch see what earlier ones did. */
class Draft {
  readonly #files: WorkspaceFiles;
  readonly #changes = new Map<string, FileChange>();

  constructor(files: WorkspaceFiles) {
    this.#files = files;
  }

  get changes(): readonly FileChange[] {
    // A file that was made and removed again is not there to be removed.
    return [...this.#changes.values()];
  }

  /** undefined when there is no such file */
  async read(path: string): Promise<string | undefined> {
    const drafted = this.#changes.get(await this.#files.locate(path, 'write'));
    if (drafted) return drafted.content ?? undefined;
    return this.#files.readText(path, 'write').then(
      ({ text }) => text,
      (error: { code?: string; details?: object; message?: string }) => {
        if (error.message === 'target file does not exist') return undefined;
        throw error;
      },
    );
  }

  async write(path: string, content: string, modeOf?: string): Promise<void> {
    const real = await this.#files.locate(path, 'write');
    const mode = modeOf === undefined ? {} : { modeOf: await this.#files.locate(modeOf, 'write') };
    this.#changes.set(real, { real, content, ...mode });
  }

  async remove(path: string): Promise<void> {
    const real = await this.#files.locate(path, 'write');
    const wasMade = await this.#files.readText(path, 'write').then(
      () => false,
      () => true,
    );
    if (wasMade) this.#changes.delete(real);
    else this.#changes.set(real, { real, content: null });
  }
}

function wrong(message: string) {
  return planError('invalid_tool_input', message);
}
