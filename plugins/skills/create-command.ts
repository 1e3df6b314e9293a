import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { SkillFiles } from 'mortise/contracts/skills';
import { type ClientCommand, MortiseError, wrongUsage } from 'mortise/sdk';

/** The largest folder that is read: the API takes no larger request. */
const maxBytes = 4 * 1_048_576;

/** `mortise skills create`: from a text, a file, or a folder on the caller's machine. */
const createCommand: ClientCommand = async ({ options }, { request, command }) => {
  const { name, content, file, dir } = options;
  if ([content, file, dir].filter((one) => one !== undefined).length !== 1) {
    return wrongUsage(command, 'Give one of --dir, --content and --file.');
  }
  const folder = typeof dir === 'string' ? resolve(dir) : undefined;
  const named = name ?? (folder === undefined ? undefined : basename(folder));
  if (named === undefined) return wrongUsage(command, '--name is required.');
  const skill = folder === undefined ? { content: content ?? file } : await readFolder(folder);
  const data = await request('POST', '/skills', { name: named, ...skill });
  return { exitCode: 0, data, text: `The skill ${named} is enabled.` };
};

export default createCommand;

interface Skill {
  readonly content: string;
  readonly references: SkillFiles;
  readonly scripts: SkillFiles;
}

async function readFolder(folder: string): Promise<Skill> {
  const left = { bytes: maxBytes };
  const content = await readSmall(join(folder, 'SKILL.md'), left).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof MortiseError) throw error;
    throw new MortiseError('invalid_skill', `${folder} has no SKILL.md that can be read.`, {
      status: 400,
      hint: 'Name a folder with a file SKILL.md.',
    });
  });
  const [references, scripts] = [
    await readFiles(join(folder, 'references'), left),
    await readFiles(join(folder, 'scripts'), left),
  ];
  return { content, references, scripts };
}

/** Texts below a folder; hidden files and links are left out. */
async function readFiles(folder: string, left: { bytes: number }): Promise<SkillFiles> {
  const items = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const files: Record<string, SkillFiles[string]> = {};
  for (const item of items.filter(({ name }) => !name.startsWith('.'))) {
    const path = join(folder, item.name);
    if (item.isDirectory()) files[item.name] = await readFiles(path, left);
    else if (item.isFile()) files[item.name] = await readSmall(path, left);
  }
  return files;
}

async function readSmall(path: string, left: { bytes: number }): Promise<string> {
  left.bytes -= (await stat(path)).size;
  if (left.bytes < 0) {
    throw new MortiseError('skill_too_large', `The skill is larger than ${maxBytes} bytes.`, {
      status: 413,
      hint: 'Keep large files in the workspace and name them in SKILL.md.',
    });
  }
  const bytes = await readFile(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new MortiseError('invalid_skill', `${path} is not a text in UTF-8.`, {
      status: 400,
      hint: 'A skill holds texts; move other files to the workspace.',
    });
  }
}
