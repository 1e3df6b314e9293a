import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, posix, relative, sep } from 'node:path';
import { type Import, readImports } from './read-imports.js';
import { exclusivePackages, ownNames, type Room, rooms } from './rooms.js';

interface LayerReport {
  /** Number of checked files. */
  readonly files: number;
  /** One line per violation: its place and reason. */
  readonly violations: readonly string[];
}

const folders = ['core', 'plugins', 'test', 'scripts'];
/** The console's pages are a separate browser program with other rules. */
const skipped = new Set(['node_modules', 'fixtures', 'plugins/console/web']);

/** Checks every source file of a checkout against the table of rooms, and finds import cycles. */
export function checkLayers(root: string): LayerReport {
  const files = folders.flatMap((folder) => listFiles(root, folder));
  const imports = new Map(files.map((file) => [file, readImports(file, readFileSync(join(root, file), 'utf8'))]));
  const violations = files.flatMap((file) => checkFile(root, file, imports.get(file) ?? []));
  return { files: files.length, violations: [...violations, ...findCycles(root, imports)] };
}

/** Import cycles, including those of type imports, one per line. */
function findCycles(root: string, imports: ReadonlyMap<string, readonly Import[]>): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) cycles.push(`${[...path.slice(path.indexOf(file)), file].join(' -> ')}: a cycle`);
    if (done.has(file) || path.includes(file)) return;
    for (const { specifier } of imports.get(file) ?? []) {
      const target = ownTarget(specifier) ?? (specifier.startsWith('.') ? resolve(root, file, specifier) : undefined);
      if (target !== undefined && target !== file && imports.has(target)) visit(target, [...path, file]);
    }
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return cycles;
}

function listFiles(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return skipped.has(entry.name) || skipped.has(path) ? [] : listFiles(root, path);
    return /\.([cm]?[jt]s|tsx)$/.test(entry.name) ? [path] : [];
  });
}

function checkFile(root: string, file: string, imports: readonly Import[]): string[] {
  const room = roomOf(file);
  if (!room) return [`${file} belongs to no room: add its folder to test/layers/rooms.ts`];
  return imports.flatMap((one) => {
    const reason = judge(root, file, room, one);
    return reason ? [`${file}:${one.line} imports ${one.specifier}: ${reason}`] : [];
  });
}

/** Why the import is not allowed; undefined when it is. */
function judge(root: string, file: string, room: Place, { specifier, typeOnly }: Import): string | undefined {
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) return undefined;
  const own = ownTarget(specifier);
  if (!own && !specifier.startsWith('.')) {
    if (specifier === 'mortise' || specifier.startsWith('mortise/')) return 'the package has no such entry';
    if (specifier.startsWith('/') || specifier.includes(':'))
      return 'only relative paths and package names are allowed';
    if (room.packages === 'none') return `${room.name} may import no packages`;
    return judgePackage(file, room, specifier, typeOnly);
  }
  const target = own ?? resolve(root, file, specifier);
  if (target.startsWith('..')) return 'it is outside the project';
  // Facts at the top level, such as package.json.
  if (!target.includes('/')) return undefined;
  const other = roomOf(target);
  if (!other) return `${target} belongs to no room`;
  if (other.id === room.id) return undefined;
  const inside = file.startsWith('plugins/') && target.startsWith(`${file.split('/', 2).join('/')}/`);
  if (file.startsWith('plugins/') && !own && !inside) {
    return 'a plugin may import other rooms only through mortise/sdk and mortise/contracts';
  }
  const uses = isTest(file) ? [...room.uses, ...(room.testsUse ?? [])] : room.uses;
  if (uses.includes(other.name)) return undefined;
  return `${room.name} may not use ${other.id} (it uses ${uses.join(', ') || 'nothing of the project'})`;
}

/** The source file behind a self-reference of the package. */
function ownTarget(specifier: string): string | undefined {
  for (const [name, path] of Object.entries(ownNames)) {
    const found = new RegExp(`^${name.replace('*', '([^/]+)')}$`).exec(specifier);
    if (found) return path.replace('*', found[1] ?? '*');
  }
  return undefined;
}

function judgePackage(file: string, room: Place, specifier: string, typeOnly: boolean): string | undefined {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  const rule = exclusivePackages.find(({ packages }) => packages.some((pattern) => fits(pattern, name)));
  if (!rule || [room.name, room.id].some((one) => rule.rooms.includes(one))) return undefined;
  if (rule.inTests && isTest(file)) return undefined;
  if (typeOnly && rule.typesIn?.includes(file)) return undefined;
  return `${name} belongs to ${rule.rooms.map((one) => (one.startsWith('plugin') ? one : `core/${one}`)).join(' and ')}`;
}

function fits(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

const isTest = (file: string): boolean => /(^|\/)test\//.test(file);

/** A room with an id, because every plugin is a separate room. */
interface Place extends Room {
  readonly id: string;
}

function roomOf(file: string): Place | undefined {
  let best: Place | undefined;
  for (const room of rooms) {
    const found = new RegExp(`^${room.path.replace('*', '[^/]+')}${room.path.endsWith('/') ? '' : '$'}`).exec(
      file,
    )?.[0];
    if (found === undefined || room.path.length < (best?.path.length ?? 0)) continue;
    best = { ...room, id: room.path.includes('*') ? found.slice(0, -1) : room.name };
  }
  return best;
}

/**
 * The source file behind a relative specifier, as a path from the root with forward slashes. Specifiers of compiled
 * code start in `dist`.
 */
function resolve(root: string, file: string, specifier: string): string {
  const path = posix.join('dist', dirname(file).split(sep).join('/'), specifier).replace(/^dist\//, '');
  const source = path.replace(/\.(m|c)?js$/, '.$1ts');
  return existsSync(join(root, source)) ? source : relative(root, join(root, path)).split(sep).join('/');
}
