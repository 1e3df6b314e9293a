import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import { childEnvironment, nodeFlags } from 'mortise/sdk/testing';

const mainFile = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'core', 'cli', 'main.js');

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** `mortise tui` in a real pseudo-terminal, and the screen as a user sees it. */
export interface Terminal {
  /** Lines of the screen, without blanks at their ends. */
  screen(): string;
  /** Waits until the screen shows the text or fits the form. @throws Error with the screen, after 10 s */
  shows(wanted: string | RegExp): Promise<string>;
  /** Waits until the screen no longer shows the text. */
  hides(unwanted: string | RegExp): Promise<string>;
  /** Waits until a condition beside the text of the screen holds. */
  settles(holds: () => boolean): Promise<string>;
  type(keys: string): void;
  resize(columns: number, rows: number): void;
  kill(signal: NodeJS.Signals): void;
  /** Whether the terminal is on the alternate screen, and shows its cursor. */
  readonly isOnOtherScreen: boolean;
  readonly isCursorShown: boolean;
  readonly cursor: { readonly x: number; readonly y: number };
  /** Exit code of the command. */
  readonly ended: Promise<number>;
}

export const keys = {
  enter: '\r',
  escape: '\u001b',
  up: '\u001b[A',
  left: '\u001b[D',
  backspace: '\u007f',
  down: '\u001b[B',
  f2: '\u001bOQ',
  f3: '\u001bOR',
  f4: '\u001bOS',
  pageUp: '\u001b[5~',
  pageDown: '\u001b[6~',
  ctrl: (letter: string) => String.fromCharCode(letter.charCodeAt(0) - 96),
  pasted: (text: string) => `\u001b[200~${text}\u001b[201~`,
};

const waitMs = 10_000;

export function openTerminal(args: readonly string[], options: TerminalOptions = {}): Terminal {
  const { columns = 120, rows = 32, env = {} } = options;
  const emulator = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  const { CI: _, NO_COLOR: __, ...inherited } = childEnvironment();
  const child = spawn(process.execPath, [...nodeFlags, mainFile, ...args], {
    cols: columns,
    rows,
    name: 'xterm-256color',
    env: { ...inherited, TERM: 'xterm-256color', ...env },
  });
  let isCursorShown = true;
  child.onData((data) => {
    const [shown, hidden] = ['\u001b[?25h', '\u001b[?25l'].map((sequence) => data.lastIndexOf(sequence));
    if (shown !== hidden) isCursorShown = Number(shown) > Number(hidden);
    emulator.write(data);
  });
  // Answers queries like a real terminal.
  emulator.onData((data) => child.write(data));
  const ended = new Promise<number>((done) => child.onExit(({ exitCode }) => done(exitCode)));
  const screen = (): string => {
    const { active } = emulator.buffer;
    const lines = Array.from(
      { length: emulator.rows },
      (_, row) => active.getLine(active.viewportY + row)?.translateToString(true) ?? '',
    );
    return lines.join('\n');
  };
  const until = async (holds: (text: string) => boolean, what: string): Promise<string> => {
    const end = Date.now() + waitMs;
    for (;;) {
      const text = screen();
      if (holds(text)) return text;
      if (Date.now() > end) throw new Error(`${what} on this screen:\n${text}`);
      await sleep(15);
    }
  };
  const has = (text: string, wanted: string | RegExp): boolean =>
    typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text);
  return {
    screen,
    shows: (wanted) => until((text) => has(text, wanted), `There is no ${wanted}`),
    hides: (unwanted) => until((text) => !has(text, unwanted), `There is still ${unwanted}`),
    settles: (holds) => until(holds, 'It does not settle'),
    type: (text) => child.write(text),
    resize: (width, height) => {
      emulator.resize(width, height);
      child.resize(width, height);
    },
    kill: (signal) => child.kill(signal),
    get isOnOtherScreen() {
      return emulator.buffer.active.type === 'alternate';
    },
    get isCursorShown() {
      return isCursorShown;
    },
    get cursor() {
      const { cursorX, cursorY } = emulator.buffer.active;
      return { x: cursorX, y: cursorY };
    },
    ended,
  };
}
