import { createHash } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SkillContent, SkillFiles } from 'mortise/contracts/skills';
import { type Logger, newUlid } from 'mortise/sdk';
import { skillError } from './errors.js';

/** Names of unfinished folders; no skill's name begins with a dot. */
const unfinished = '.unfinished-';
/** An unfinished folder of this age belongs to a process that died, milliseconds. */
const abandonedMs = 600_000;

/** The files of a skill by their path below its folder. */
export function skillFiles({ content, references, scripts }: SkillContent): ReadonlyMap<string, string> {
  const files = new Map([['SKILL.md', content]]);
  const add = (entries: SkillFiles, below: string): void => {
    for (const [name, entry] of Object.entries(entries)) {
      if (typeof entry === 'string') files.set(`${below}/${name}`, entry);
      else add(entry, `${below}/${name}`);
    }
  };
  add(references, 'references');
  add(scripts, 'scripts');
  return files;
}

/**
 * The folders of the skills on this machine. The rows are what counts: a folder is written when its row has changed, and
 * at the start, whatever was done to it by hand.
 */
export class SkillFolders {
  readonly #root: string;
  /** Hash of what is in each folder. */
  readonly #written = new Map<string, string>();
  #cleaned = false;

  /** @param root absolute path of an existing folder */
  constructor(root: string) {
    this.#root = root;
  }

  pathOf(name: string): string {
    return join(this.#root, name);
  }

  /** Lets the next {@link write} write the folder even if its row is the same. */
  rewrite(name: string): void {
    this.#written.delete(name);
  }

  /** @throws file_error when the last {@link write} could not write the folder */
  check(name: string): void {
    if (!this.#written.has(name)) throw skillError('file_error');
  }

  /** Writes changed folders and removes those without a skill. One that fails is tried again with the next call. */
  async write(skills: readonly SkillContent[], log: Logger): Promise<void> {
    for (const skill of skills) {
      const hash = createHash('sha256')
        .update(JSON.stringify([...skillFiles(skill)]))
        .digest('hex');
      if (this.#written.get(skill.name) === hash) continue;
      try {
        await this.#writeFolder(skill);
        this.#written.set(skill.name, hash);
      } catch (error) {
        this.#written.delete(skill.name);
        log.error({ err: error, skill: skill.name }, 'the folder of a skill could not be written');
      }
    }
    try {
      await this.#removeOthers(new Set(skills.map(({ name }) => name)));
    } catch (error) {
      log.warn({ err: error }, 'folders without a skill could not be removed');
    }
  }

  /** Agents see the old files or the new ones, never a mixture. */
  async #writeFolder(skill: SkillContent): Promise<void> {
    const written = join(this.#root, `${unfinished}${newUlid()}`);
    const replaced = join(this.#root, `${unfinished}${newUlid()}`);
    const target = this.pathOf(skill.name);
    try {
      for (const [path, text] of skillFiles(skill)) {
        const file = join(written, path);
        await mkdir(dirname(file), { recursive: true, mode: 0o755 });
        await writeFile(file, text, { mode: path.startsWith('scripts/') ? 0o755 : 0o644 });
      }
      // A folder cannot be renamed over one with files.
      await rename(target, replaced).catch(ignoreMissing);
      await rename(written, target);
    } finally {
      await Promise.all([written, replaced].map(removeFolder));
    }
  }

  async #removeOthers(names: ReadonlySet<string>): Promise<void> {
    const gone = [...this.#written.keys()].filter((name) => !names.has(name));
    for (const name of gone) this.#written.delete(name);
    const found = this.#cleaned ? gone : await readdir(this.#root);
    for (const name of found) {
      if (names.has(name) || (name.startsWith(unfinished) && !(await this.#isAbandoned(name)))) continue;
      await removeFolder(this.pathOf(name));
    }
    this.#cleaned = true;
  }

  async #isAbandoned(name: string): Promise<boolean> {
    const found = await stat(join(this.#root, name)).catch(ignoreMissing);
    return found !== undefined && Date.now() - found.mtimeMs > abandonedMs;
  }
}

function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true });
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return undefined;
}
