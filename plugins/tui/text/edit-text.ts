import { characters } from './wrap-spans.js';

/** A typed text, and the cursor as the number of characters before it. */
export interface Edited {
  readonly text: string;
  readonly cursor: number;
}

export const emptyText: Edited = { text: '', cursor: 0 };

/** The text with the cursor at its end. */
export const typed = (text: string): Edited => ({ text, cursor: characters(text).length });

export type EditAction =
  | 'left'
  | 'right'
  | 'word-left'
  | 'word-right'
  | 'home'
  | 'end'
  | 'backspace'
  | 'delete'
  | 'delete-word'
  | 'delete-before'
  | 'delete-after';

export function insert({ text, cursor }: Edited, added: string): Edited {
  const all = characters(text);
  const at = all.length === text.length ? cursor : all.slice(0, cursor).join('').length;
  const before = text.slice(0, at) + added.replaceAll(/\r\n?/g, '\n');
  // A character may join with the one before it, as an emoji with its modifier.
  return { cursor: characters(before).length, text: before + text.slice(at) };
}

export function edit({ text, cursor }: Edited, action: EditAction): Edited {
  const all = characters(text);
  const cut = (from: number, to: number): Edited => ({
    text: [...all.slice(0, from), ...all.slice(to)].join(''),
    cursor: from,
  });
  switch (action) {
    case 'left':
      return { text, cursor: Math.max(0, cursor - 1) };
    case 'right':
      return { text, cursor: Math.min(all.length, cursor + 1) };
    case 'word-left':
      return { text, cursor: wordStart(all, cursor) };
    case 'word-right':
      return { text, cursor: wordEnd(all, cursor) };
    case 'home':
      return { text, cursor: lineStart(all, cursor) };
    case 'end':
      return { text, cursor: lineEnd(all, cursor) };
    case 'backspace':
      return cut(Math.max(0, cursor - 1), cursor);
    case 'delete':
      return { ...cut(cursor, cursor + 1), cursor };
    case 'delete-word':
      return cut(wordStart(all, cursor), cursor);
    case 'delete-before':
      return cut(lineStart(all, cursor), cursor);
    case 'delete-after':
      return cut(cursor, lineEnd(all, cursor));
  }
}

function wordStart(all: readonly string[], cursor: number): number {
  let at = cursor;
  while (at > 0 && /\s/.test(all[at - 1] ?? '')) at -= 1;
  while (at > 0 && !/\s/.test(all[at - 1] ?? '')) at -= 1;
  return at;
}

function wordEnd(all: readonly string[], cursor: number): number {
  let at = cursor;
  while (at < all.length && /\s/.test(all[at] ?? '')) at += 1;
  while (at < all.length && !/\s/.test(all[at] ?? '')) at += 1;
  return at;
}

function lineStart(all: readonly string[], cursor: number): number {
  return cursor === 0 ? 0 : all.lastIndexOf('\n', cursor - 1) + 1;
}

function lineEnd(all: readonly string[], cursor: number): number {
  const at = all.indexOf('\n', cursor);
  return at < 0 ? all.length : at;
}
