import * as fc from 'fast-check';

/** White space that JSON allows between tokens. */
const space = fc.constantFrom('', '', ' ', '\n', '\t ', '\r\n  ');

/** A number as programs write it, in forms that a second serialization would change. */
const number = fc.constantFrom('0', '-0', '1.0', '1e2', '1E+2', '0.10', '12345678901234567890', '1e400');

/** A string with escapes that a second serialization would change. */
const text = fc
  .string({
    unit: fc.constantFrom('a', 'Ω', '漢', '😀', '\\u0041', '\\/', '\\n', '\\"', '\\ud83d\\ude00', '\\\\'),
    maxLength: 12,
  })
  .map((inner) => `"${inner}"`);

const value = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, number, text, fc.constantFrom('true', 'false', 'null'), tie('list'), tie('object')),
  list: fc
    .tuple(space, fc.array(tie('value'), { maxLength: 3 }))
    .map(([gap, items]) => `[${gap}${items.join(`${gap},`)}]`),
  object: fc
    .tuple(space, fc.array(fc.tuple(text, tie('value')), { maxLength: 3 }))
    .map(
      ([gap, members]) =>
        `{${members.map(([name, one]) => `${gap}${name}${gap}:${gap}${String(one)}`).join(',')}${gap}}`,
    ),
})).value as fc.Arbitrary<string>;

/** Request bodies of future clients: known members in any order among unknown ones, with any spacing. */
export function recordedBodies(known: Readonly<Record<string, unknown>>, count: number, seed = 1): readonly string[] {
  const unknown = fc.array(fc.tuple(fc.nat(1_000), value), { maxLength: 6 });
  const body = fc
    .tuple(fc.shuffledSubarray(Object.keys(known), { minLength: Object.keys(known).length }), unknown, space)
    .map(([names, others, gap]) => {
      const members = [
        ...names.map((name) => `"${name}"${gap}:${gap}${JSON.stringify(known[name])}`),
        ...others.map(([number, one]) => `"future_${number}"${gap}:${one}`),
      ];
      return `${gap}{${gap}${members.join(`${gap},${gap}`)}${gap}}${gap}`;
    });
  return fc.sample(body, { numRuns: count, seed });
}
