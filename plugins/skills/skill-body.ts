import type { SkillContent, SkillFiles } from 'mortise/contracts/skills';
import { isJsonObject, isUnstorableText } from 'mortise/sdk';
import { skillError } from './errors.js';

/** Letters, digits, `._-` and space inside, no leading dot; a trailing dot or space cannot be a folder on every system. */
const skillName = /^(?!\.)[\p{L}\p{N}._-](?:[\p{L}\p{N}._ -]*[\p{L}\p{N}_-])?$/u;
const maxNameLength = 64;
const maxFileNameLength = 200;
const maxFolderDepth = 16;

/** Checks a skill as the API receives it; unknown members are ignored. @throws invalid_skill */
export function readSkillBody(body: unknown): SkillContent {
  if (!isJsonObject(body)) throw skillError('invalid_json');
  const { name, content, references = {}, scripts = {} } = body;
  if (!isSkillName(name)) {
    throw invalid(
      'name must be 1 to 64 letters, digits, dots, hyphens, underscores and inner spaces, without a leading dot',
    );
  }
  if (typeof content !== 'string' || content.trim() === '') throw invalid('content must be a non-blank text');
  if (isUnstorableText(content)) throw invalid('content contains characters that cannot be stored');
  return {
    name,
    content,
    references: readFiles(references, 'references', 0),
    scripts: readFiles(scripts, 'scripts', 0),
  };
}

function isSkillName(name: unknown): name is string {
  return typeof name === 'string' && [...name].length <= maxNameLength && skillName.test(name);
}

function readFiles(value: unknown, path: string, depth: number): SkillFiles {
  if (value === null) return {};
  if (!isJsonObject(value)) throw invalid(`${path} must be an object of texts and folders`);
  if (depth > maxFolderDepth) throw invalid(`${path} has too many folders inside each other`);
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => {
      const below = `${path}/${name.slice(0, maxFileNameLength)}`;
      if (!isFileName(name)) throw invalid(`${below} is not a name of a file`);
      if (typeof entry !== 'string') return [name, readFiles(entry, below, depth + 1)];
      if (isUnstorableText(entry)) throw invalid(`${below} contains characters that cannot be stored`);
      return [name, entry];
    }),
  );
}

function isFileName(name: string): boolean {
  return (
    name !== '' &&
    name !== '.' &&
    name !== '..' &&
    Buffer.byteLength(name) <= maxFileNameLength &&
    !/[/\\\p{Cc}\p{Cs}]/u.test(name)
  );
}

function invalid(message: string) {
  return skillError('invalid_skill', { message });
}
