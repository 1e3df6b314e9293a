/** Whether a URI comes from a template of RFC 6570 level 1 or 2: `{name}` is one segment, `{+name}` any text. */
export function matchesTemplate(template: string, uri: string): boolean {
  const parts = template.split(/(\{\+?[A-Za-z0-9_]+\})/);
  const pattern = parts.map((part) => {
    if (part.startsWith('{+')) return '.+';
    if (part.startsWith('{')) return '[^/?#]+';
    return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${pattern.join('')}$`).test(uri);
}
