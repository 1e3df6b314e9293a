const placeholder = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

/**
 * Fills the placeholders `{{KEY}}` of a template.
 * @throws Error when a variable is missing
 */
export function renderTemplate(text: string, variables: Readonly<Record<string, string | undefined>>): string {
  return text.replaceAll(placeholder, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value === undefined) throw new Error(`the template variable ${name} has no value`);
    return value;
  });
}
