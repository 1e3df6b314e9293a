import { type BigIntStats, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import picomatch from 'picomatch';
import { kbError } from '../errors.js';

/** Which files of a folder are sources. */
export interface ScanRules {
  /** Globs on the path relative to the root. */
  readonly include: readonly string[];
  /** Names of folders at any depth (globs without a slash), or globs on the path. */
  readonly exclude: readonly string[];
  /** `.gitignore` files apply. */
  readonly gitignore: boolean;
  readonly followSymlinks: boolean;
}

export interface ScannedFile {
  /** Relative to the root, with `/`, exactly as it is named. */
  readonly path: string;
  readonly stats: BigIntStats;
}

export interface Scan {
  readonly files: readonly ScannedFile[];
  /** Included names that are not readable files: links, sockets, names with control characters. */
  readonly problems: readonly {
    readonly path: string;
    readonly reason: 'unreadable' | 'bad_name' | 'symlink';
    readonly detail: string;
  }[];
  /** Folders that could not be listed, relative to the root; `''` is never among them. */
  readonly unlisted: readonly { readonly path: string; readonly detail: string }[];
  /** All listed folders, to watch them. */
  readonly folders: readonly string[];
  /** No file of any kind is in the listed folders: an unmounted disk, or a checkout that failed. */
  readonly isEmpty: boolean;
}

interface IgnoreRules {
  readonly base: string;
  readonly rules: Ignore;
}

const control = /[\p{Cc}\ufffd]/u;
const maxDepth = 64;

/**
 * Lists the sources below a folder, sorted by path.
 *
 * @param within only these files and folders, relative to the root; all when absent
 * @throws MortiseError `repo_unavailable`
 */
export function scanRepo(repo: string, root: string, rules: ScanRules, within?: readonly string[]): Scan {
  const files: ScannedFile[] = [];
  const problems: { path: string; reason: 'unreadable' | 'bad_name' | 'symlink'; detail: string }[] = [];
  const unlisted: { path: string; detail: string }[] = [];
  const folders: string[] = [];
  const isIncluded = picomatch([...rules.include], { dot: true });
  const isExcluded = excludes(rules.exclude);
  const realRoot = realRootOf(repo, root);
  const seen = new Set<string>();
  let isEmpty = true;

  const visit = (folder: string, depth: number, ignores: readonly IgnoreRules[]): void => {
    const absolute = folder === '' ? root : join(root, folder);
    let entries: ReturnType<typeof list>;
    try {
      entries = list(absolute);
    } catch (error) {
      if (folder === '') throw kbError('repo_unavailable', { repo });
      unlisted.push({ path: folder, detail: errnoOf(error) });
      return;
    }
    folders.push(folder);
    const own = rules.gitignore && entries.some(({ name }) => name === '.gitignore') ? readIgnore(absolute) : undefined;
    const applying = own === undefined ? ignores : [...ignores, { base: folder, rules: own }];
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      let isFolder = entry.isDirectory();
      const isLeftOut = isFolder ? isExcluded.folder(path) : isExcluded.file(path);
      const isVisited = isWanted(path, within);
      // A folder that is not visited in this scan may have files.
      if (!isFolder || (!isVisited && !isLeftOut)) isEmpty = false;
      if (isLeftOut || !isVisited) continue;
      if (isIgnored(path, isFolder, applying)) continue;
      let isLink = false;
      if (entry.isSymbolicLink()) {
        isLink = true;
        const target = rules.followSymlinks ? linkTarget(join(absolute, entry.name), realRoot) : 'ignored';
        if (target === 'ignored' || target === 'outside') {
          const detail = target === 'outside' ? 'the link leads out of the folder' : 'links are not followed';
          if (isIncluded(path) || leadsToFolder(join(absolute, entry.name)))
            problems.push({ path, reason: 'symlink', detail });
          continue;
        }
        if (target === 'broken') {
          if (isIncluded(path)) problems.push({ path, reason: 'unreadable', detail: 'the link leads nowhere' });
          continue;
        }
        isFolder = target === 'folder';
        if (isFolder && isExcluded.folder(path)) continue;
      }
      if (isFolder) {
        if (rules.followSymlinks && !isFirst(seen, join(absolute, entry.name))) continue;
        if (depth < maxDepth) visit(path, depth + 1, applying);
        else unlisted.push({ path, detail: `deeper than ${maxDepth} folders` });
        continue;
      }
      if (!isIncluded(path) || !isContained(path, within)) continue;
      if (control.test(entry.name) || !path.isWellFormed()) {
        problems.push({ path, reason: 'bad_name', detail: 'the name has control characters or is not UTF-8' });
        continue;
      }
      try {
        const file = join(absolute, entry.name);
        const stats = isLink ? statSync(file, { bigint: true }) : lstatSync(file, { bigint: true });
        if (!stats.isFile()) problems.push({ path, reason: 'unreadable', detail: 'not a regular file' });
        else if (!rules.followSymlinks || isFirst(seen, file)) files.push({ path, stats });
      } catch (error) {
        // Deleted since the folder was listed.
        if (errnoOf(error) !== 'ENOENT') problems.push({ path, reason: 'unreadable', detail: errnoOf(error) });
      }
    }
  };
  if (rules.followSymlinks) seen.add(realRoot);
  visit('', 0, []);
  return { files, problems, unlisted, folders, isEmpty };
}

function list(absolute: string) {
  const entries = readdirSync(absolute, { withFileTypes: true });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function realRootOf(repo: string, root: string): string {
  try {
    const real = realpathSync(root);
    if (statSync(real).isDirectory()) return real;
  } catch {
    // Reported below.
  }
  throw kbError('repo_unavailable', { repo });
}

function excludes(patterns: readonly string[]) {
  const names = picomatch(
    patterns.filter((pattern) => !pattern.includes('/')),
    { dot: true },
  );
  const onPath = patterns.filter((pattern) => pattern.includes('/'));
  const paths = onPath.length === 0 ? () => false : picomatch(onPath, { dot: true });
  return {
    folder: (path: string): boolean => names(path.slice(path.lastIndexOf('/') + 1)) || paths(path),
    file: (path: string): boolean => paths(path),
  };
}

function readIgnore(folder: string): Ignore | undefined {
  try {
    return ignore().add(readFileSync(join(folder, '.gitignore'), 'utf8'));
  } catch {
    return undefined;
  }
}

/** The rules of the deepest folder decide, as in git. */
function isIgnored(path: string, isFolder: boolean, ignores: readonly IgnoreRules[]): boolean {
  for (let index = ignores.length - 1; index >= 0; index -= 1) {
    const { base, rules } = ignores[index] as IgnoreRules;
    const relative = base === '' ? path : path.slice(base.length + 1);
    const { ignored, unignored } = rules.test(isFolder ? `${relative}/` : relative);
    if (ignored || unignored) return ignored;
  }
  return false;
}

/** Whether a path is one of those requested, below one, or a parent of one. */
function isWanted(path: string, within: readonly string[] | undefined): boolean {
  return within === undefined || within.some((one) => isBelow(path, one) || one.startsWith(`${path}/`));
}

function isContained(path: string, within: readonly string[] | undefined): boolean {
  return within === undefined || within.some((one) => isBelow(path, one));
}

/** Whether a path is the other one or below it. */
export function isBelow(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

function linkTarget(link: string, realRoot: string): 'file' | 'folder' | 'outside' | 'broken' {
  try {
    const real = realpathSync(link);
    if (real !== realRoot && !real.startsWith(realRoot + sep)) return 'outside';
    return statSync(real).isDirectory() ? 'folder' : 'file';
  } catch {
    return 'broken';
  }
}

/** The name of the folder matches no pattern, so everything below it is left out. */
function leadsToFolder(link: string): boolean {
  try {
    return statSync(link, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    // A link that leads to itself, or through a folder that this user may not enter.
    return false;
  }
}

/** Whether the real path has not been visited through another name. */
function isFirst(seen: Set<string>, path: string): boolean {
  try {
    const real = realpathSync(path);
    if (seen.has(real)) return false;
    seen.add(real);
    return true;
  } catch {
    return false;
  }
}

function errnoOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? 'unknown');
}
