import { isDeepStrictEqual } from 'node:util';
import { isSensitiveName } from 'mortise/sdk';
import { Pointer } from 'rfc6902';

/** A value that is no object and no list, by the names on the way to it. */
interface Leaf {
  readonly names: readonly string[];
  readonly value: unknown;
}

const secretMembers = ['api_key', 'client_secret'];
const variableForm = /^[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET)$/;
const secretWords = /\bapi_key\b|\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET)\b/g;

/** JSON pointers of the secrets that differ between two documents, and of addresses that send secrets to another server. */
export function changedSecrets(before: unknown, after: unknown): readonly string[] {
  const [old, next] = [leavesByPointer(before), leavesByPointer(after)];
  const pointers = new Set([...old.keys(), ...next.keys()]);
  return [...pointers]
    .filter((pointer) => {
      const [was, is] = [old.get(pointer), next.get(pointer)];
      if (isDeepStrictEqual(was?.value, is?.value)) return false;
      const names = (was ?? is)?.names ?? [];
      if (names.at(-1) !== 'base_url' || isSecret(names)) return isSecret(names);
      // A provider that is removed as a whole sends nothing any more.
      const provider = new Pointer(['', ...names.slice(0, -1)]).toString();
      const remains = [...next.keys()].some((other) => other === provider || other.startsWith(`${provider}/`));
      return remains && originOf(was?.value) !== originOf(is?.value);
    })
    .sort();
}

/** The server that an address names; undefined where the environment or the catalogue decides it. */
function originOf(address: unknown): string | undefined {
  if (typeof address !== 'string' || address.trim() === '') return undefined;
  return URL.parse(address.trim())?.origin ?? address;
}

function isSecret(names: readonly string[]): boolean {
  return names.some(
    (name, index) =>
      secretMembers.includes(name) ||
      variableForm.test(name) ||
      (names[index - 1] === 'headers' && isSensitiveName(name)),
  );
}

/** The names of secrets in the changed lines of a text. */
export function secretWordsIn(lines: readonly string[]): readonly string[] {
  return [...new Set(lines.flatMap((line) => line.match(secretWords) ?? []))].sort();
}

const changedMark = '*** (changed)';
const mark = '***';

/** A copy of a document for people: every secret is a mark, and one that differs from `other` says so. */
export function maskSecrets(document: unknown, other?: unknown): unknown {
  const others = other === undefined ? undefined : leavesByPointer(other);
  const mask = (value: unknown, names: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => mask(item, [...names, String(index)]));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mask(member, [...names, name])]));
    }
    if (!names.some((name) => isSensitiveName(name)) && !isSecret(names)) return value;
    if (others === undefined || isDeepStrictEqual(others.get(new Pointer(['', ...names]).toString())?.value, value))
      return mark;
    return changedMark;
  };
  return mask(document, []);
}

const assignment = /(\bapi_key\b|\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET)\b)(["']?\s*[:=]\s*)\S.*$/;

/** A line of a text without the value that it assigns to a secret. */
export function maskLine(line: string, isAdded: boolean): string {
  return line.replace(assignment, (_, name: string, sign: string) => `${name}${sign}${isAdded ? changedMark : mark}`);
}

function leavesByPointer(document: unknown): ReadonlyMap<string, Leaf> {
  return new Map([...leaves(document, [])].map((leaf) => [new Pointer(['', ...leaf.names]).toString(), leaf]));
}

function* leaves(value: unknown, names: readonly string[]): Generator<Leaf> {
  if (typeof value !== 'object' || value === null) yield { names, value };
  else for (const [name, member] of Object.entries(value)) yield* leaves(member, [...names, name]);
}
