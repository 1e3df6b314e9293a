/** Texts that break careless code; harmless where they are treated as text. */
export const hostileTexts: readonly string[] = [
  '',
  ' \t\n',
  '\u0000',
  'lone surrogate \ud800',
  'right \u202e to left',
  '__proto__',
  'constructor',
  '../../../etc/passwd',
  "' or ''='",
  '{{7*7}} %s %n $(true)',
  '<script>alert(1)</script>',
  '你好，世界 👩‍👩‍👧‍👦',
  'a'.repeat(100_000),
  '('.repeat(5_000),
];

const hostileNumbers: readonly number[] = [0, -1, 0.5, 2 ** 53, -(2 ** 53), 1e308];

/** Copies of a sample, each with one text or number replaced by a hostile one. Members in `keep` are not replaced. */
export function hostileCopies<T extends object>(sample: T, keep: readonly string[] = []): readonly T[] {
  const copies: T[] = [];
  for (const [name, value] of Object.entries(sample)) {
    if (keep.includes(name)) continue;
    const others: readonly unknown[] =
      typeof value === 'string' ? hostileTexts : typeof value === 'number' ? hostileNumbers : [];
    for (const other of others) copies.push({ ...structuredClone(sample), [name]: other });
  }
  return copies;
}

/** A deeply frozen copy, so that code that modifies its input fails. */
export function frozenCopy<T>(value: T): T {
  return freeze(structuredClone(value));
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    for (const member of Object.values(value)) freeze(member);
    Object.freeze(value);
  }
  return value;
}
