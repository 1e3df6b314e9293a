import { MortiseError } from 'mortise/sdk';

/** `/prompts:review FILE=a.ts NOTE="two words"` */
interface PromptCall {
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
}

const call = /^\/prompts:(\S*)\s*([\s\S]*)$/;
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const pair = /^([A-Za-z_][A-Za-z0-9_]*)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))(?:\s+|$)/;

/** Undefined when the text is not a call of a template. @throws MortiseError `invalid_prompt_template` */
export function readPromptCall(text: string): PromptCall | undefined {
  const found = call.exec(text.trim());
  if (!found) return undefined;
  const [, name = '', given = ''] = found;
  if (!nameForm.test(name))
    throw invalid(`"${name}" is not the name of a template`, 'Write /prompts:<name> KEY=VALUE.');
  const values: Record<string, string> = {};
  let rest = given.trim();
  while (rest !== '') {
    const [whole, key = '', quoted, plain] = pair.exec(rest) ?? [];
    if (whole === undefined)
      throw invalid(`"${rest.split(/\s/)[0]}" is not KEY=VALUE`, 'Quote a value with spaces: NOTE="two words".');
    if (Object.hasOwn(values, key)) throw invalid(`${key} is given twice`, 'Give each value once.');
    values[key] = quoted === undefined ? (plain ?? '') : quoted.replaceAll(/\\(["\\])/g, '$1');
    rest = rest.slice(whole.length);
  }
  return { name, values };
}

/** The template with its values. @throws MortiseError `invalid_prompt_template` */
export function expandPrompt(template: string, { name, values }: PromptCall): string {
  const positional = /\$(?:[1-9]|ARGUMENTS\b)/.exec(template)?.[0];
  if (positional)
    throw invalid(`${name} uses ${positional}, which is not supported`, 'Use named placeholders such as $FILE.');
  const used = new Set([...template.matchAll(placeholder)].map(([, key = '']) => key));
  const missing = [...used].filter((key) => !Object.hasOwn(values, key));
  if (missing.length > 0)
    throw invalid(`${name} needs ${missing.join(', ')}`, `Add ${missing.map((key) => `${key}=…`).join(' ')}.`);
  const unknown = Object.keys(values).filter((key) => !used.has(key));
  if (unknown.length > 0)
    throw invalid(`${name} has no ${unknown.map((key) => `$${key}`).join(', ')}`, 'Remove it from the line.');
  return template.replaceAll(placeholder, (_, key: string) => values[key] ?? '');
}

const placeholder = /\$([A-Za-z_][A-Za-z0-9_]*)/g;

function invalid(reason: string, hint: string): MortiseError {
  return new MortiseError('invalid_prompt_template', `${reason}.`, { status: 400, hint });
}
