/**
 * JSON text with the members of every object in code unit order, so that equal values have equal text (RFC 8785 without
 * its number rules, which `JSON.stringify` keeps already). Undefined members are left out, as JSON does.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return listText(value);
  if ('toJSON' in value && typeof value.toJSON === 'function') return canonicalJson(value.toJSON());
  return objectText(value as Readonly<Record<string, unknown>>);
}

// Texts are put together by hand: this runs for every audit row, and lists of parts to join cost as much again.

function listText(list: readonly unknown[]): string {
  let text = '[';
  for (let index = 0; index < list.length; index += 1) text += (index === 0 ? '' : ',') + canonicalJson(list[index]);
  return `${text}]`;
}

function objectText(object: Readonly<Record<string, unknown>>): string {
  let text = '{';
  for (const name of Object.keys(object).sort()) {
    const member = object[name];
    if (member !== undefined) text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `${text}}`;
}
