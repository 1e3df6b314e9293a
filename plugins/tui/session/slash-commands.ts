import type { Words } from '../words.js';

/** Commands of the UI, in the order of the help. */
export const slashCommands = [
  { name: '/new', summary: 'commandNew' },
  { name: '/history', summary: 'commandHistory' },
  { name: '/model', summary: 'commandModel' },
  { name: '/mode', summary: 'commandMode' },
  { name: '/prompts:', summary: 'commandPrompts' },
  { name: '/refresh', summary: 'commandRefresh' },
  { name: '/delete', summary: 'commandDelete' },
  { name: '/settings', summary: 'commandSettings' },
  { name: '/help', summary: 'commandHelp' },
  { name: '/exit', summary: 'commandExit' },
] as const satisfies readonly { readonly name: string; readonly summary: keyof Words }[];

type SlashCommand = (typeof slashCommands)[number];

/** Commands that the gateway handles. */
const gatewayCommands = new Set(['/review', '/compact', '/memory']);

/** The first word of an input that is meant for the UI; undefined for a message. */
export function commandWord(text: string): string | undefined {
  const [word = ''] = text.split(/\s/, 1);
  return /^\/[a-z][\w-]*$/i.test(word) && !gatewayCommands.has(word.toLowerCase()) ? word.toLowerCase() : undefined;
}

/** Commands that start with the input, while only a name is typed. */
export function suggestionsFor(text: string): readonly SlashCommand[] {
  if (!/^\/[a-z:]*$/i.test(text)) return [];
  const wanted = text.toLowerCase();
  const matching = slashCommands.filter(({ name }) => name.startsWith(wanted));
  return matching.some(({ name }) => name === wanted) ? [] : matching;
}
