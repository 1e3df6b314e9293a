import { type Picker, pickable, type ScreenState, type SettingsForm, settingFields } from '../session/screen-state.js';
import { slashCommands } from '../session/slash-commands.js';
import { characters, cutText, type Line, padText, textWidth } from '../text/wrap-spans.js';
import type { Words } from '../words.js';

/** The overlay, which is shown in place of the transcript. */
export function overlayLines(state: ScreenState, words: Words, columns: number, rows: number): readonly Line[] {
  const { overlay } = state;
  const width = columns - 4;
  const lines =
    overlay === undefined
      ? []
      : overlay.kind === 'settings'
        ? settingsLines(overlay, words, width)
        : overlay.kind === 'help'
          ? helpLines(words, width)
          : pickerLines(overlay, words, width, rows);
  return lines.slice(0, rows).map((line) => [{ text: '  ' }, ...line]);
}

const title = (text: string): Line[] => [[{ text, bold: true, color: 'cyan' }], []];

function pickerLines(picker: Picker, words: Words, width: number, rows: number): Line[] {
  const items = pickable(picker);
  const head: Line = [
    { text: picker.kind === 'chats' ? words.history : words.models, bold: true, color: 'cyan' },
    ...(picker.filter === '' ? [] : [{ text: `  ${picker.filter}▏`, color: 'yellow' }]),
  ];
  if (items.length === 0) {
    return [
      head,
      [],
      [{ text: picker.items.length === 0 && picker.kind === 'chats' ? words.noChats : words.nothingFound, dim: true }],
    ];
  }
  const room = Math.max(1, rows - 2);
  const first = Math.max(0, Math.min(picker.index - Math.floor(room / 2), items.length - room));
  const shown = items.slice(first, first + room);
  const detailWidth = Math.min(Math.max(...shown.map(({ detail }) => textWidth(detail))), Math.floor(width / 2));
  const labelWidth = Math.max(4, Math.min(60, width - detailWidth - 4));
  const lines = shown.map(({ label, detail }, index): Line => {
    const isMarked = first + index === picker.index;
    return [
      { text: isMarked ? '❯ ' : '  ', color: 'cyan' },
      { text: padText(cutText(label, labelWidth), labelWidth), bold: isMarked, ...(isMarked ? { color: 'cyan' } : {}) },
      { text: `  ${cutText(detail, detailWidth)}`, dim: true },
    ];
  });
  return [head, [], ...lines];
}

function settingsLines({ values, index }: SettingsForm, words: Words, width: number): Line[] {
  const names = {
    apiBase: words.apiBase,
    apiKey: words.apiKey,
    userId: words.user,
    channel: words.channel,
    locale: words.language,
  };
  const nameWidth = Math.max(...Object.values(names).map(textWidth));
  const lines = settingFields.map((field, at): Line => {
    const isMarked = at === index;
    const { text, cursor } = values[field];
    const all = characters(field === 'apiKey' ? '•'.repeat(characters(text).length) : text);
    const before = all.slice(0, cursor).join('');
    const shown = cutText(isMarked ? `${before}▏${all.slice(cursor).join('')}` : all.join(''), width - nameWidth - 4);
    return [
      { text: isMarked ? '❯ ' : '  ', color: 'cyan' },
      { text: padText(names[field], nameWidth), bold: isMarked, dim: !isMarked },
      { text: '  ' },
      isMarked ? { text: shown, color: 'cyan' } : { text: shown },
    ];
  });
  return [...title(words.settings), ...lines];
}

function helpLines(words: Words, width: number): Line[] {
  const keys = [
    ['Enter · Ctrl+J', words.keySend],
    ['Esc', words.keyCancel],
    ['PgUp · PgDn', words.keyScroll],
    ['↑ · ↓', words.keyRecall],
    ['Ctrl+N', words.commandNew],
    ['Ctrl+R', words.commandRefresh],
    ['Ctrl+O', words.keyResults],
    ['Ctrl+P · F2', words.keyMode],
    ['F3 · F4', `${words.commandHistory} · ${words.settings}`],
    ['Ctrl+C', words.keyQuit],
  ] as const;
  const commands = slashCommands.map(
    ({ name, summary }) => [name === '/prompts:' ? '/prompts:<name>' : name, words[summary]] as const,
  );
  const column = 17;
  const row = ([name, text]: readonly [string, string]): Line => [
    { text: padText(name, column), color: 'cyan' },
    { text: cutText(text, width - column), dim: true },
  ];
  return [...title(words.help), ...commands.map(row), [], ...keys.map(row)];
}
