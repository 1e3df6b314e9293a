import { Box, Text, useCursor } from 'ink';
import { createElement as h, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import type { ChatScreen } from '../session/chat-screen.js';
import type { ScreenState } from '../session/screen-state.js';
import { cutText, type Line, padText, type Span, textWidth } from '../text/wrap-spans.js';
import type { Words } from '../words.js';
import { type Layout, layoutOf } from './layout.js';
import { overlayLines } from './overlay-lines.js';

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const tickMs = 120;

interface Drawn {
  readonly state: ScreenState;
  readonly words: Words;
  readonly layout: Layout;
}

/** The whole screen: header, chats and transcript (or the overlay), input, status line. */
export function App({ screen }: { readonly screen: ChatScreen }): ReactNode {
  const state = useSyncExternalStore(screen.subscribe, screen.state);
  const tick = useTicks(state.turn !== undefined);
  const words = screen.words;
  const layout = layoutOf(state, words);
  const { setCursorPosition } = useCursor();
  const drawn: Drawn = { state, words, layout };
  const { columns, rows, isTooSmall, ruleRows, bodyRows, above, input } = layout;
  // Where an input method shows what is being composed.
  setCursorPosition(
    isTooSmall || state.overlay
      ? undefined
      : { x: 4 + input.column, y: 2 + ruleRows + bodyRows + above.length + input.row },
  );
  if (isTooSmall) return h(Text, { wrap: 'truncate' }, words.small);
  return h(
    Box,
    { flexDirection: 'column', width: columns, height: rows },
    h(Header, drawn),
    h(Lines, { lines: [[{ text: '─'.repeat(columns), dim: true }]], rows: ruleRows }),
    state.overlay
      ? h(Lines, { lines: overlayLines(state, words, columns, bodyRows + above.length), rows: bodyRows + above.length })
      : h(Body, drawn),
    state.overlay ? null : h(Lines, { lines: above.map((line) => [{ text: ' ' }, ...line]), rows: above.length }),
    h(Composer, drawn),
    h(Status, { ...drawn, tick }),
  );
}

/** Counts while a turn is running. */
function useTicks(isRunning: boolean): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setTick((one) => one + 1), tickMs);
    return () => clearInterval(timer);
  }, [isRunning]);
  return tick;
}

function Header({ state, words, layout: { columns } }: Drawn): ReactNode {
  const { model, promptMode, collaborationMode, chat } = state;
  const mode = promptMode === 'default' ? '' : promptMode === 'codex' ? `codex:${collaborationMode}` : promptMode;
  const facts = [model, mode].filter((part) => part !== '').join(' · ');
  const room = columns - textWidth(` ◆ Mortise   ${facts} `);
  const name = cutText(chat?.name || words.newChat, Math.max(minNameWidth, room));
  const left: Line = [
    { text: ' ◆ ', color: 'cyan', bold: true },
    { text: 'Mortise', bold: true },
    { text: `  ${name}` },
  ];
  return h(Row, { left, right: [{ text: `${room < minNameWidth ? mode : facts} `, dim: true }], columns });
}

/** Minimum columns of the chat's name; the model is omitted first. */
const minNameWidth = 8;

function Body({ state, words, layout }: Drawn): ReactNode {
  const { sidebarColumns, bodyRows, bodyColumns, lines, top } = layout;
  const shown = lines.slice(top, top + bodyRows).map((line) => [{ text: ' ' }, ...line]);
  const isEmpty = state.entries.length === 0;
  return h(
    Box,
    { flexDirection: 'row', height: bodyRows },
    sidebarColumns === 0 ? null : h(Sidebar, { state, words, layout }),
    h(
      Box,
      { width: bodyColumns + 2, height: bodyRows },
      isEmpty
        ? h(Welcome, { words, rows: bodyRows, columns: bodyColumns + 2 })
        : h(Lines, { lines: shown, rows: bodyRows }),
    ),
  );
}

function Sidebar({ state, words, layout: { sidebarColumns, bodyRows } }: Drawn): ReactNode {
  const room = sidebarColumns - 3;
  const title: Line = [{ text: ` ${padText(words.chats, room)} `, dim: true, bold: true }, bar];
  const at = state.chats.findIndex(({ id }) => id === state.chat?.id);
  const first = Math.max(0, Math.min(at - bodyRows + 3, state.chats.length - bodyRows + 1));
  const rows = state.chats.slice(first, first + bodyRows - 1).map(({ id, name }): Line => {
    const isOpen = id === state.chat?.id;
    const text = padText(cutText(name || id, room - 2), room);
    return [
      { text: isOpen ? ' ❯ ' : '   ', color: 'cyan' },
      { text: text.slice(0, -1), bold: isOpen, dim: !isOpen },
      bar,
    ];
  });
  const none: Line[] =
    state.chats.length === 0 ? [[{ text: ` ${padText(words.noChats, room)} `, dim: true }, bar]] : [];
  const lines = [title, ...none, ...rows];
  while (lines.length < bodyRows) lines.push([{ text: ' '.repeat(sidebarColumns - 1) }, bar]);
  return h(Box, { width: sidebarColumns }, h(Lines, { lines, rows: bodyRows }));
}

const bar: Span = { text: '│', dim: true };

function Welcome({ words, rows, columns }: { readonly words: Words; readonly rows: number; readonly columns: number }) {
  const centred = (text: string, look: Omit<Span, 'text'>): Line => [
    { text: ' '.repeat(Math.max(1, Math.floor((columns - textWidth(text)) / 2))) },
    { ...look, text },
  ];
  const lines = [
    ...Array.from({ length: Math.max(0, Math.floor(rows / 2) - 2) }, (): Line => []),
    centred('◆', { color: 'cyan', bold: true }),
    [],
    centred(words.welcome, {}),
    centred(words.welcomeKeys, { dim: true }),
  ];
  return h(Lines, { lines: lines.slice(-rows), rows });
}

function Composer({ state, words, layout: { columns, input } }: Drawn): ReactNode {
  const hint = state.form ? words.answerHere : words.placeholder;
  const isIdle = state.turn === undefined || state.form !== undefined;
  const lines: readonly Line[] = input.lines.map((text, index) => [
    { text: index === 0 ? '❯ ' : '  ', ...(isIdle ? { color: 'cyan' } : { dim: true }), bold: true },
    state.input.text === '' ? { text: hint, dim: true } : { text },
  ]);
  return h(
    Box,
    {
      borderStyle: 'round',
      borderColor: state.form ? 'yellow' : 'gray',
      width: columns,
      paddingLeft: 1,
      height: input.lines.length + 2,
    },
    h(Lines, { lines, rows: input.lines.length }),
  );
}

function Status({ state, words, layout, tick }: Drawn & { readonly tick: number }): ReactNode {
  const { columns, top, lastTop } = layout;
  const { turn, overlay, form, connection } = state;
  const hint = columns >= 70 ? words.keys : words.fewKeys;
  const more: Line = top < lastTop ? [{ text: `↓ ${words.more}  `, color: 'yellow' }] : [];
  const left: Line =
    overlay !== undefined
      ? [{ text: ` ${hintOf(overlay.kind, words)}`, dim: true }]
      : form !== undefined
        ? [{ text: ` ${words.questionHint}`, dim: true }]
        : turn
          ? [
              { text: ` ${frames[tick % frames.length]} `, color: 'cyan' },
              { text: turn.isCancelling ? words.cancelling : words.working, color: 'cyan' },
              { text: ` ${Math.floor((Date.now() - turn.startedAt) / 1_000)} s · ${words.cancelHint}`, dim: true },
            ]
          : [{ text: ` ${hint}`, dim: true }];
  const place = columns >= 100 ? `${connection.userId} · ${connection.apiBase.replace(/^https?:\/\//, '')} ` : '';
  return h(Row, { left, right: [...more, { text: place, dim: true }], columns });
}

function hintOf(kind: 'chats' | 'models' | 'settings' | 'help', words: Words): string {
  return { chats: words.pickHint, models: words.pickHint, settings: words.settingsHint, help: words.helpHint }[kind];
}

/** A line with a left and a right part; the right one is omitted if it does not fit. */
function Row({
  left,
  right,
  columns,
}: {
  readonly left: Line;
  readonly right: Line;
  readonly columns: number;
}): ReactNode {
  const used = left.reduce((sum, { text }) => sum + textWidth(text), 0);
  const needed = right.reduce((sum, { text }) => sum + textWidth(text), 0);
  const gap = columns - used - needed;
  const line = gap < 1 ? left : [...left, { text: ' '.repeat(gap) }, ...right];
  return h(Lines, { lines: [line], rows: 1 });
}

function Lines({ lines, rows }: { readonly lines: readonly Line[]; readonly rows: number }): ReactNode {
  return h(
    Box,
    { flexDirection: 'column', height: rows, flexShrink: 0, overflow: 'hidden' },
    // Lines are identified by their position.
    ...lines.slice(0, rows).map((line) => h(Text, { wrap: 'truncate' }, line.length === 0 ? ' ' : line.map(styled))),
  );
}

function styled({ text, color, background, bold, dim, italic, underline }: Span, index: number): ReactNode {
  const look = {
    key: index,
    ...(color ? { color } : {}),
    ...(background ? { backgroundColor: background } : {}),
    bold: bold === true,
    dimColor: dim === true,
    italic: italic === true,
    underline: underline === true,
  };
  return h(Text, look, text);
}
