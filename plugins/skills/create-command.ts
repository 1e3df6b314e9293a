import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
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
  const { skill, leftOut } =
    folder === undefined ? { skill: { content: content ?? file }, leftOut: [] } : await readFolder(folder);
  const created = await request<object>('POST', '/skills', { name: named, ...skill });
  const data = leftOut.length === 0 ? created : { ...created, left_out: leftOut };
  const lines = leftOut.map(({ path, reason }) => `Left out: ${path} (${reason}).`);
  return { exitCode: 0, data, text: [`The skill ${named} is enabled.`, ...lines].join('\n') };
};

export default createCommand;

interface Skill {
  readonly content: string;
  readonly references: SkillFiles;
  readonly scripts: SkillFiles;
}

interface LeftOut {
  /** From the skill's folder. */
  readonly path: string;
  readonly reason: string;
}

interface Reading {
  readonly folder: string;
  /** How much the skill may still grow. */
  bytes: number;
  readonly leftOut: LeftOut[];
}

const parts = ['SKILL.md', 'references', 'scripts'];

/** The texts in a skill's folder, and the names of its other files. Hidden files are ignored. */
async function readFolder(folder: string): Promise<{ readonly skill: Skill; readonly leftOut: readonly LeftOut[] }> {
  const reading: Reading = { folder, bytes: maxBytes, leftOut: [] };
  const content = await readSmall(join(folder, 'SKILL.md'), reading).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof MortiseError) throw error;
    throw new MortiseError('invalid_skill', `${folder} has no SKILL.md that can be read.`, {
      status: 400,
      hint: 'Name a folder with a file SKILL.md.',
    });
  });
  const [references, scripts] = [
    await readFiles(join(folder, 'references'), reading),
    await readFiles(join(folder, 'scripts'), reading),
  ];
  for (const name of (await readdir(folder)).toSorted()) {
    if (!isHidden(name) && !parts.includes(name)) {
      leaveOut(reading, join(folder, name), 'a skill has SKILL.md, references and scripts alone');
    }
  }
  return { skill: { content, references, scripts }, leftOut: reading.leftOut };
}

async function readFiles(folder: string, reading: Reading): Promise<SkillFiles> {
  const items = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOTDIR') leaveOut(reading, folder, 'not a folder');
    else if (error.code !== 'ENOENT') throw error;
    return [];
  });
  const files: Record<string, SkillFiles[string]> = {};
  for (const item of items.filter(({ name }) => !isHidden(name))) {
    const path = join(folder, item.name);
    if (item.isDirectory()) files[item.name] = await readFiles(path, reading);
    else if (item.isFile()) files[item.name] = await readSmall(path, reading);
    else leaveOut(reading, path, item.isSymbolicLink() ? 'a link' : 'not a regular file');
  }
  return files;
}

function isHidden(name: string): boolean {
  return name.startsWith('.');
}

function leaveOut({ folder, leftOut }: Reading, path: string, reason: string): void {
  leftOut.push({ path: relative(folder, path).replaceAll(sep, '/'), reason });
}

async function readSmall(path: string, reading: Reading): Promise<string> {
  reading.bytes -= (await stat(path)).size;
  if (reading.bytes < 0) {
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
