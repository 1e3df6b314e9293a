import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { chmod, mkdir, open, readFile, realpath, rm, stat } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, parse, resolve } from 'node:path';
import type { FileAccess, FileChange, TextFile, WorkspaceFiles } from 'mortise/contracts/tool-files';
import { type FilesService, pathBelow, type SettingsService, serialQueue } from 'mortise/sdk';
import { inputError } from './errors.js';

/** Folders of the data directory that tools may read. */
const readableData = ['uploads', 'skills'];
const maxBytes = 32 * 1_024 * 1_024;

type Paths = Pick<SettingsService, 'workspaceDir' | 'dataDir' | 'guardedPaths'>;

interface Confinement {
  readonly paths: Paths;
  readonly files: Pick<FilesService, 'confine' | 'writeAtomic'>;
  /** Further roots, separated like PATH; `*` is the whole machine. */
  readonly fileRoots: string;
}

/** The service `workspace-files`. */
export function openWorkspaceFiles({ paths, files, fileRoots }: Confinement): WorkspaceFiles {
  const extra = fileRoots.split(delimiter).map((root) => root.trim());
  const roots = [paths.workspaceDir, ...extra.filter((root) => root !== '*' && isAbsolute(root))];
  const isUnlimited = extra.includes('*');
  const readable = readableData.map((folder) => join(paths.dataDir, folder));

  /** The real path of a path anywhere on the machine. */
  async function realOf(path: string): Promise<string> {
    try {
      return await files.confine(parse(resolve(path)).root, path);
    } catch {
      throw inputError('path_invalid', { reason: 'outside_roots' });
    }
  }

  const realFolder = briefly(realOf);

  const isBelow = async (real: string, folders: readonly string[]): Promise<boolean> => {
    for (const folder of folders) if (pathBelow(await realFolder(folder), real) !== undefined) return true;
    return false;
  };

  async function isAllowed(real: string, access: FileAccess): Promise<boolean> {
    if (access === 'read' && (await isBelow(real, readable))) return true;
    if (!isUnlimited && !(await isBelow(real, roots))) return false;
    const { hidden, readOnly } = paths.guardedPaths;
    // The files beside a database have its name with a suffix.
    const guarded = real.replace(/-(?:wal|shm|journal)$/, '');
    return !(await isBelow(guarded, access === 'read' ? hidden : [...hidden, ...readOnly]));
  }

  async function locate(path: string, access: FileAccess): Promise<string> {
    if (path.includes('\0') || path.trim() === '') throw inputError('path_invalid');
    const real = await realOf(resolve(paths.workspaceDir, path));
    if (!(await isAllowed(real, access))) throw inputError('path_invalid', { reason: 'outside_roots' });
    return real;
  }

  return {
    root: () => realOf(paths.workspaceDir),
    locate,
    isReadable: (real) => isAllowed(real, 'read'),
    readText: async (path, access = 'read') => readTextFile(await locate(path, access)),
    exclusive: serialQueue(),
    commit: (changes, signal) => commitAll(changes, files, signal),
  };
}

const cacheMs = 1_000;

/** Folders of the configuration are resolved once a second, not for every file of a search. */
function briefly(resolveFolder: (path: string) => Promise<string>): (path: string) => Promise<string> {
  const cached = new Map<string, { readonly real: Promise<string>; readonly until: number }>();
  return (path) => {
    const found = cached.get(path);
    if (found && performance.now() < found.until) return found.real;
    const real = resolveFolder(path);
    cached.set(path, { real, until: performance.now() + cacheMs });
    return real;
  };
}

/**
 * Reads a confined file. It is opened without following a link, so that one that was put there meanwhile is not followed.
 *
 * @param real from `locate`
 */
export async function readTextFile(real: string): Promise<TextFile> {
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error) => {
    throw inputError((error as NodeJS.ErrnoException).code === 'ENOENT' ? 'missing' : 'path_invalid');
  });
  try {
    const facts = await file.stat();
    if (!facts.isFile() || (await realpath(real)) !== real) throw inputError('path_invalid');
    if (facts.size > maxBytes) throw inputError('too_large', { max_bytes: maxBytes });
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw inputError('path_invalid', { reason: 'binary' });
    // Decoded anyway, each byte of another encoding would become U+FFFD, and a writer would write that back.
    if (!isUtf8(bytes)) throw inputError('not_utf8', { reason: 'not_utf8' });
    return { real, text: bytes.toString('utf8') };
  } finally {
    await file.close();
  }
}

type Undo = () => Promise<unknown>;

async function commitAll(
  changes: readonly FileChange[],
  files: Pick<FilesService, 'confine' | 'writeAtomic'>,
  signal: AbortSignal | undefined,
): Promise<() => Promise<void>> {
  const undo: Undo[] = [];
  const undoAll = async (): Promise<void> => {
    // The error that led here is the one to report; a file that cannot be restored has its new content, whole.
    for (const restore of undo.toReversed()) await restore().catch(() => undefined);
  };
  try {
    for (const change of changes) {
      signal?.throwIfAborted();
      undo.push(await commitOne(change, files));
    }
    return undoAll;
  } catch (error) {
    await undoAll();
    throw error;
  }
}

/** @returns what restores the old state */
async function commitOne(
  { real, content, modeOf }: FileChange,
  files: Pick<FilesService, 'confine' | 'writeAtomic'>,
): Promise<Undo> {
  await checkUnmoved(real, files);
  const before = await readFile(real).catch(() => undefined);
  const mode = await stat(modeOf ?? real).then(
    (facts) => facts.mode & 0o777,
    () => undefined,
  );
  if (content === null) {
    await rm(real);
    return async () => {
      if (before) await files.writeAtomic(real, before);
      if (mode !== undefined) await chmod(real, mode);
    };
  }
  const made = await mkdir(dirname(real), { recursive: true, mode: 0o755 });
  await files.writeAtomic(real, content);
  if (before === undefined && mode !== undefined) await chmod(real, mode);
  return async () => {
    if (before) await files.writeAtomic(real, before);
    else await rm(made ?? real, { recursive: true, force: true });
  };
}

/** A program may have replaced a folder by a link since the path was located. */
async function checkUnmoved(real: string, files: Pick<FilesService, 'confine'>): Promise<void> {
  const now = await files.confine(parse(real).root, real).catch(() => undefined);
  if (now !== real) throw inputError('path_invalid', { reason: 'outside_roots' });
}
