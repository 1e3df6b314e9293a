/** Where a value is no JSON value: functions, dates, maps, instances, cycles, numbers that JSON cannot write. */
export function jsonIssues(value: unknown, what = 'the result'): readonly string[] {
  const issues: string[] = [];
  visit(value, '', new Set(), issues);
  return issues.slice(0, 5).map((issue) => `${what}${issue}`);
}

/** As {@link jsonIssues}, for a value that has to be a JSON object. */
export function jsonObjectIssues(value: unknown, what = 'the result'): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${what} is no JSON object`];
  return jsonIssues(value, what);
}

function visit(value: unknown, path: string, above: ReadonlySet<object>, issues: string[]): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  const at = path === '' ? '' : ` at ${path}`;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) issues.push(`${at} is ${value}, which JSON cannot write`);
  } else if (typeof value !== 'object') issues.push(`${at} is of type ${typeof value}`);
  else if (above.has(value)) issues.push(`${at} contains itself`);
  else {
    const inside = new Set(above).add(value);
    if (Array.isArray(value))
      for (const [index, member] of value.entries()) visit(member, `${path}/${index}`, inside, issues);
    else if (isPlain(value)) {
      // A member that is undefined is one that is not there.
      for (const [name, member] of Object.entries(value))
        if (member !== undefined) visit(member, `${path}/${name}`, inside, issues);
    } else issues.push(`${at} is an instance of ${value.constructor?.name ?? 'a class'}`);
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
