import { type EditAction, type Edited, edit, emptyText, insert, typed } from '../text/edit-text.js';
import { layoutOf } from '../view/layout.js';
import type { ChatScreen } from './chat-screen.js';
import { pickable, questionOf, type ScreenState, settingFields } from './screen-state.js';
import { suggestionsFor } from './slash-commands.js';

/** A key as Node's readline reports it, or a pasted text. */
export interface Key {
  readonly name: string | undefined;
  readonly ctrl: boolean;
  readonly meta: boolean;
  readonly shift: boolean;
  /** The typed text; empty for other keys. */
  readonly text: string;
}

/** Handles a key in the current state of the screen. */
export async function handleKey(screen: ChatScreen, key: Key): Promise<void> {
  const { overlay, turn } = screen.state();
  const chord = `${key.ctrl ? 'ctrl+' : ''}${key.meta ? 'alt+' : ''}${key.name ?? ''}`;
  if (chord === 'ctrl+c') return screen.quit();
  if (overlay) return inOverlay(screen, key, chord);
  switch (chord) {
    case 'ctrl+n':
      return screen.newChat();
    case 'ctrl+r':
      return screen.refresh();
    case 'ctrl+o':
      return screen.toggleResults();
    case 'ctrl+p':
      return screen.nextPromptMode();
    case 'f1':
      return screen.update({ overlay: { kind: 'help' } });
    case 'f2':
      return screen.nextCollaborationMode();
    case 'f3':
      return screen.showChats();
    case 'f4':
      return screen.showSettings();
    case 'escape':
      return turn ? screen.cancel() : screen.update({ input: emptyText, suggestion: 0 });
    case 'pageup':
      return scroll(screen, -1);
    case 'pagedown':
      return scroll(screen, 1);
  }
  return inComposer(screen, key, chord);
}

async function inComposer(screen: ChatScreen, key: Key, chord: string): Promise<void> {
  const { input, form, suggestion } = screen.state();
  const suggestions = form ? [] : suggestionsFor(input.text);
  const marked = suggestions[Math.min(suggestion, suggestions.length - 1)];
  const options = (form && questionOf(form)?.options) ?? [];
  const isChoosing = form !== undefined && input.text === '' && options.length > 0;
  switch (chord) {
    case 'return':
      if (marked) screen.update({ input: typed(marked.name), suggestion: 0 });
      // A template name must follow.
      return marked?.name === '/prompts:' ? undefined : screen.submit();
    case 'tab':
      if (marked) screen.update({ input: typed(marked.name), suggestion: 0 });
      return;
    case 'alt+return':
    case 'enter':
    case 'ctrl+j':
      return screen.update({ input: insert(input, '\n') });
    case 'up':
    case 'down': {
      const step = chord === 'up' ? -1 : 1;
      if (isChoosing) return screen.update({ form: { ...form, option: within(form.option + step, options.length) } });
      if (suggestions.length > 0) return screen.update({ suggestion: within(suggestion + step, suggestions.length) });
      const moved = verticalMove(input, step);
      return moved ? screen.update({ input: moved }) : screen.recall(step);
    }
  }
  const edited = editedBy(input, key, chord);
  if (edited) screen.update({ input: edited, suggestion: 0 });
}

async function inOverlay(screen: ChatScreen, key: Key, chord: string): Promise<void> {
  const { overlay } = screen.state();
  if (chord === 'escape' || overlay === undefined) return screen.update({ overlay: undefined });
  if (overlay.kind === 'help') return screen.update({ overlay: chord === 'return' ? undefined : overlay });
  const step = chord === 'up' ? -1 : chord === 'down' || chord === 'tab' ? 1 : 0;
  if (overlay.kind === 'settings') {
    if (chord === 'return') return screen.choose(undefined);
    if (step !== 0)
      return screen.update({ overlay: { ...overlay, index: within(overlay.index + step, settingFields.length) } });
    const field = settingFields[overlay.index] ?? 'apiBase';
    const edited = editedBy(overlay.values[field], key, chord);
    if (edited) screen.update({ overlay: { ...overlay, values: { ...overlay.values, [field]: edited } } });
    return;
  }
  const items = pickable(overlay);
  const page = chord === 'pageup' ? -10 : chord === 'pagedown' ? 10 : 0;
  if (chord === 'return') return screen.choose(items[overlay.index]);
  if (step !== 0) return screen.update({ overlay: { ...overlay, index: within(overlay.index + step, items.length) } });
  if (page !== 0) {
    const index = Math.max(0, Math.min(items.length - 1, overlay.index + page));
    return screen.update({ overlay: { ...overlay, index } });
  }
  const edited = editedBy(typed(overlay.filter), key, chord);
  if (edited) screen.update({ overlay: { ...overlay, filter: edited.text, index: 0 } });
}

const editKeys: Readonly<Record<string, EditAction>> = {
  left: 'left',
  right: 'right',
  'ctrl+left': 'word-left',
  'alt+b': 'word-left',
  'alt+left': 'word-left',
  'ctrl+right': 'word-right',
  'alt+f': 'word-right',
  'alt+right': 'word-right',
  home: 'home',
  'ctrl+a': 'home',
  end: 'end',
  'ctrl+e': 'end',
  backspace: 'backspace',
  'ctrl+h': 'backspace',
  delete: 'delete',
  'ctrl+d': 'delete',
  'ctrl+w': 'delete-word',
  'alt+backspace': 'delete-word',
  'ctrl+u': 'delete-before',
  'ctrl+k': 'delete-after',
};

function editedBy(value: Edited, key: Key, chord: string): Edited | undefined {
  const action = editKeys[chord];
  if (action) return edit(value, action);
  return key.text === '' || key.ctrl || key.meta ? undefined : insert(value, key.text);
}

/** The cursor in the line above or below; undefined when there is none. */
function verticalMove({ text, cursor }: Edited, step: -1 | 1): Edited | undefined {
  const lines = text.split('\n').map((line) => typed(line).cursor);
  let row = 0;
  let column = cursor;
  while (column > (lines[row] ?? 0)) {
    column -= (lines[row] ?? 0) + 1;
    row += 1;
  }
  const length = lines[row + step];
  if (length === undefined) return undefined;
  const before = lines.slice(0, row + step).reduce((sum, one) => sum + one + 1, 0);
  return { text, cursor: before + Math.min(column, length) };
}

function scroll(screen: ChatScreen, direction: -1 | 1): void {
  const state: ScreenState = screen.state();
  const { top, lastTop, bodyRows } = layoutOf(state, screen.words);
  const next = top + direction * Math.max(1, bodyRows - 2);
  screen.update({ top: next >= lastTop ? 'end' : Math.max(0, next) });
}

const within = (index: number, count: number): number => (count === 0 ? 0 : (index + count) % count);
